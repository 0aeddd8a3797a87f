"""Reads every puppet case through the live proxy with the official OpenAI client for Python, whole and streamed.

In: the proxy's address and the folder of cases. Out: one line for each case that the client reads differently in the
two modes, then a closing count; exit status 1 if there is any, or if a case file cannot be understood. The stream is
put together by the client's own accumulators, from raw chunks and by its `stream` helper, so what is compared is what
its users hold.
"""

import concurrent.futures
import json
import pathlib
import sys

import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

SCHEDULES = ["whole", "special", "1", "3", "rand:1:8"]
HELPED = ["special", "1"]

# The keys of a puppet case, and the parameters of a request that the client takes by name. All others go beside them.
CASE = {
    "id", "about", "source", "format", "says", "ends", "request", "needs", "basis", "expect", "dialects", "tags"
}
NAMED = {"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "max_tokens", "stop"}


# The texts that are one token in each format; of all else each byte is one.
TAGS = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
MARKERS = {
    "hermes": TAGS,
    "qwen3-xml": TAGS,
    "glm": TAGS + ["<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"],
}


class BadCase(Exception):
    """A case file says something that is not understood here."""


def cases(folder):
    for file in sorted(pathlib.Path(folder).glob("*/*.json")):
        if file.parent.name != "recorded":
            yield from cases_of(file)


def cases_of(file):
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadCase(f"{file}: {error}") from error
    for case in found if isinstance(found, list) else [found]:
        if not isinstance(case, dict):
            raise BadCase(f"{file}: a case is no object: {case!r:.40}")
        if "says" in case:
            yield checked(file, case)


def checked(file, case):
    name = f"{file}: case {case.get('id', 'without id')}"
    if unknown := set(case) - CASE:
        raise BadCase(f"{name}: unknown key {', '.join(sorted(unknown))}")
    if missing := {"id", "format"} - set(case):
        raise BadCase(f"{name}: lacks {', '.join(sorted(missing))}")
    if case["format"] not in MARKERS:
        raise BadCase(f"{name}: format {case['format']!r} is not known here")
    return case


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
    request["extra_body"] = {key: request.pop(key) for key in list(request) if key not in NAMED}
    return request


def tokens(form, text):
    count = 0
    for marker in MARKERS[form]:
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


def chunk_by_chunk(client, request):
    state = ChatCompletionStreamState()
    for chunk in client.chat.completions.create(**request, stream=True):
        state.handle_chunk(chunk)
    return read(state.current_completion_snapshot)


def by_helper(client, request):
    try:
        with client.chat.completions.stream(**request) as stream:
            return read(stream.get_final_completion())
    except openai.LengthFinishReasonError as error:  # its way to say `length`; it holds what it has read
        return read(error.completion)


def differences(client, case):
    request = request_of(case)
    at = "whole"
    try:
        whole = read(client.chat.completions.create(**request))
        request["stream_options"] = {"include_usage": True}
        for rounds in SCHEDULES:
            request["extra_headers"] = {"x-tfproxy-rounds": rounds}
            for way in (chunk_by_chunk, by_helper) if rounds in HELPED else (chunk_by_chunk,):
                at = f"rounds {rounds}, {way.__name__}"
                stream = way(client, request)
                if stream != whole:
                    return f"{case['id']} {at}\n  whole   {whole}\n  stream  {stream}"
    except Exception as error:  # noqa: BLE001  whatever the client raises is a finding
        return f"{case['id']} {at}: {type(error).__name__}: {error}"
    return None


def main(arguments):
    if len(arguments) != 2:
        print("usage: openai-client.py HOST:PORT CASES")
        return 1
    address, folder = arguments
    client = openai.OpenAI(base_url=f"http://{address}/v1", api_key="unused", max_retries=0, timeout=60)
    try:
        every = list(cases(folder))
    except BadCase as error:
        print(error)
        return 1
    if not every:
        print(f"no case in {folder}")
        return 1
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        wrong = [line for line in pool.map(lambda case: differences(client, case), every) if line]
    for line in wrong:
        print(line)
    ways = f"whole, streamed with {len(SCHEDULES)} schedules, and by the stream helper with {len(HELPED)}"
    print(f"openai {openai.__version__}: {len(every)} cases {ways}")
    print(f"{len(every) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
