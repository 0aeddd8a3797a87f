"""Reads every puppet case through the live proxy with the official OpenAI client for Python, whole and streamed.

In: the proxy's address and the folder of cases. Out: one line for each case that the client reads differently in the
two modes, then a closing count; exit status 1 if there is any. The stream is put together by the client's own
accumulator, so what is compared is what its users hold.
"""

import concurrent.futures
import json
import pathlib
import sys

import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

SCHEDULES = ["whole", "special", "1", "3", "rand:1:8"]


def cases(folder):
    for file in sorted(pathlib.Path(folder).glob("*/*.json")):
        if file.parent.name == "recorded":
            continue
        found = json.loads(file.read_text(encoding="utf-8"))
        for case in found if isinstance(found, list) else [found]:
            if "says" in case:
                yield case


def request_of(case):
    request = dict(case.get("request", {}))
    messages = request.pop("messages", []) + [{"role": "user", "content": case["says"]}]
    request.pop("stream_options", None)
    request.update(model="puppet-" + case["format"], messages=messages)
    ends = case.get("ends", "model")
    if isinstance(ends, dict):
        request["stop"] = ends["stop"]
    elif ends == "length":
        request["max_tokens"] = tokens(case["format"], case["says"])
    known = {"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "max_tokens", "stop"}
    request["extra_body"] = {key: request.pop(key) for key in list(request) if key not in known}
    return request


def tokens(form, text):
    markers = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
    if form == "glm":
        markers += ["<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"]
    count = 0
    for marker in markers:
        count += text.count(marker)
        text = text.replace(marker, "")
    return count + len(text.encode("utf-8"))


def read(completion):
    choice = completion.choices[0]
    message = choice.message
    calls = [(c.type, c.function.name, c.function.arguments) for c in message.tool_calls or []]
    usage = completion.usage and (completion.usage.prompt_tokens, completion.usage.completion_tokens)
    reasoning = getattr(message, "reasoning_content", None)
    return (message.role, message.content, reasoning, message.refusal, calls, choice.finish_reason, usage)


def streamed(client, request, rounds):
    state = ChatCompletionStreamState()
    headers = {"x-tfproxy-rounds": rounds}
    options = {"include_usage": True}
    for chunk in client.chat.completions.create(
        **request, stream=True, stream_options=options, extra_headers=headers
    ):
        state.handle_chunk(chunk)
    return read(state.current_completion_snapshot)


def differences(client, case):
    request = request_of(case)
    try:
        whole = read(client.chat.completions.create(**request))
        for rounds in SCHEDULES:
            stream = streamed(client, request, rounds)
            if stream != whole:
                return f"{case['id']} rounds {rounds}\n  whole   {whole}\n  stream  {stream}"
    except Exception as error:  # noqa: BLE001  whatever the client raises is a finding
        return f"{case['id']}: {type(error).__name__}: {error}"
    return None


def main(address, folder):
    client = openai.OpenAI(base_url=f"http://{address}/v1", api_key="unused", max_retries=0, timeout=60)
    every = list(cases(folder))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        wrong = [line for line in pool.map(lambda case: differences(client, case), every) if line]
    for line in wrong:
        print(line)
    print(f"openai {openai.__version__}: {len(every)} cases whole and streamed with {len(SCHEDULES)} schedules")
    print(f"{len(every) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong or not every else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
