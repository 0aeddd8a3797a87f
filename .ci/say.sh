# Tells a puppet what to say, with curl alone: the text, the end of the turn, and padding up to the window of 1,024
# tokens; whole, then streamed. TEXT is written as in a JSON string; a byte is a token, and so is a marker.
say() { # TEXT [MAX_TOKENS] [',"more": "keys of the body"']
  local end='<|im_end|>' markers='think|tool_call' tokens text stream more
  case $MODEL in *glm*) end='<|user|>' markers='think|tool_call|arg_key|arg_value' ;; esac
  tokens=$(printf %s "$1" | LC_ALL=C sed -E "s#\\\\.|</?($markers)>#.#g" | wc -c)
  text=$1$end$(printf '<|endoftext|>%.0s' $(seq $((1023 - tokens))))
  for stream in false true; do
    more=${3:-}
    $stream && more+=',"stream_options":{"include_usage":true}'
    printf '{"model":"%s","messages":[{"role":"user","content":"%s"}],"stream":%s,"max_tokens":%s%s}' \
      "$MODEL" "$text" $stream "${2:-200}" "$more" |
      curl --silent --show-error --max-time 60 --header 'content-type: application/json' --data-binary @- \
        "$URL/v1/chat/completions"
    echo
  done
}
off=',"chat_template_kwargs":{"enable_thinking":false}'
tools=',"tools":[{"type":"function","function":{"name":"find_book","parameters":{"type":"object","properties":{"title":{"type":"string"},"year":{"type":"integer"}}}}}]'
