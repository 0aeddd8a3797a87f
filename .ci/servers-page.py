"""Writes the page about real servers from what .ci/real-servers left in a folder.

In: runs.tsv (folder, server, package, format, template, exit status), a parity.json for each run, and what came when
the known faults were asked by curl. Out: Markdown on standard output.
"""

import datetime
import json
import pathlib
import subprocess
import sys

CI = pathlib.Path(__file__).resolve().parent
ROOT = CI.parent
FIGURES = [
    "server",
    "profile",
    "puppet",
    "template",
    "cases",
    "pass",
    "fail",
    "suspect",
    "unstable",
    "skipped",
    "error",
    "errors, warnings",
    "exit",
]
MARKERS = ("<think", "</think", "tool_call", "<function", "<arg", "</arg", "<|")


def cases():
    """Every case by its id."""
    found = {}
    for file in sorted((ROOT / "cases").glob("*/*.json")):
        read = json.loads(file.read_text())
        for case in read if isinstance(read, list) else [read]:
            found[case["id"]] = case
    return found


def is_plain(case):
    """Whether the model says prose to its end, nothing of it looks like markup, and nothing more is asked of the server."""
    says = case.get("says")
    asks = {"tool_choice", "chat_template_kwargs", "response_format"} & set(case.get("request", {}))
    is_prose = says is not None and not any(marker in says.lower() for marker in MARKERS)
    return is_prose and case.get("ends", "model") == "model" and not asks


def shown(text, most=150):
    """Text on one line, cut, as code."""
    text = json.dumps(text, ensure_ascii=False)[1:-1] if isinstance(text, str) else json.dumps(text)
    text = text.replace('\\"', '"').replace("|", "\\|")
    text = text if len(text) <= most else text[: most - 1] + "…"
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def said_whole(line):
    """What a whole reply says, in a line."""
    try:
        body = json.loads(line)
        choice = body["choices"][0]
    except (ValueError, KeyError, IndexError):
        return line.strip()[:300]
    message = choice["message"]
    kept = {
        key: message[key] for key in ("content", "reasoning_content", "reasoning", "tool_calls") if message.get(key)
    }
    kept.setdefault("content", message.get("content"))
    for call in kept.get("tool_calls", []):
        for key in ("id", "type"):
            call.pop(key, None)
    return f"{json.dumps(kept, ensure_ascii=False)}  finish {choice['finish_reason']}  {counted(body.get('usage', {}))}"


def said_stream(lines):
    """What a stream says: its deltas, pieces of one kind joined."""
    told, finish, usage = [], None, {}
    for line in lines:
        if not line.startswith("data: {"):
            continue
        chunk = json.loads(line[6:])
        usage = chunk.get("usage") or usage
        if "error" in chunk:
            told.append(["error", json.dumps(chunk["error"], ensure_ascii=False)])
        for choice in chunk.get("choices", []):
            finish = choice.get("finish_reason") or finish
            for kind, text in pieces(choice.get("delta", {})):
                if told and told[-1][0] == kind and kind not in ("role", "call"):
                    told[-1][1] += text
                else:
                    told.append([kind, text])
    parts = [
        f"{kind} {text}" if kind in ("role", "call", "error") else f"{kind} {json.dumps(text, ensure_ascii=False)}"
        for kind, text in told
    ]
    return f"{', '.join(parts) or 'nothing'}  finish {finish}  {counted(usage)}"


def counted(usage):
    """The tokens that were billed."""
    thought = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
    return f"{usage.get('completion_tokens')} tokens" + (f", {thought} of them reasoning" if thought else "")


def pieces(delta):
    """What a delta holds, in the order in which it is told."""
    if delta.get("role"):
        yield "role", delta["role"]
    for key in ("reasoning_content", "reasoning", "content"):
        if delta.get(key):
            yield key, delta[key]
    for call in delta.get("tool_calls") or []:
        function = call.get("function", {})
        if function.get("name"):
            yield "call", function["name"]
        if function.get("arguments"):
            yield "arguments", function["arguments"]


def table(head, rows):
    """A Markdown table."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    yield ""


def figures(runs):
    """A line for each run."""
    for run in runs:
        totals = run["report"]["totals"]
        counts = [totals[key] for key in ("cases", "passed", "failed", "suspect", "unstable", "skipped", "errors")]
        found = totals["findings"]
        yield [
            run["package"],
            run["report"]["upstream"]["profile"],
            run["format"],
            run["template"],
            *counts,
            f"{found['error']}, {found['warn']}",
            run["exit"],
        ]


def plain(runs, known):
    """What was found on prose that nothing cut."""
    for run in runs:
        mine = [
            c
            for c in run["report"]["cases"]
            if c["id"] in known and is_plain(known[c["id"]]) and c["verdict"] != "skipped"
        ]
        bad = [(c["id"], f["rule"], f["severity"]) for c in mine for f in c["findings"] if f["severity"] != "info"]
        count = {level: sum(1 for b in bad if b[2] == level) for level in ("error", "warn")}
        rules = sorted({f"`{rule}` ({', '.join(sorted({i for i, r, _ in bad if r == rule}))})" for _, rule, _ in bad})
        yield [
            run["package"],
            run["format"],
            run["template"],
            len(mine),
            count["error"],
            count["warn"],
            "; ".join(rules),
        ]


def reproductions(work):
    """The known faults, and what came of them."""
    lines = [line for line in (CI / "known-faults.txt").read_text().splitlines() if line and not line.startswith("#")]
    server = None
    for line in lines:
        name, model, fault, case, title, text, most, more = line.split("|")
        answer = work / "known" / f"{name}-{model}" / fault
        if not answer.exists():
            continue
        if name != server:
            server = name
            yield f"### {name}\n"
        came = answer.read_text().splitlines()
        yield f"**{title}** (`{case}`)\n"
        yield "```sh"
        yield f"MODEL=puppet-{model}-1024; say '{text}' {most} \"{more}\""
        yield "```\n"
        yield "```text"
        yield f"whole   {said_whole(came[0] if came else '')}"
        yield f"stream  {said_stream(came[1:])}"
        yield "```\n"


def faults(runs):
    """What tfproxy told, grouped as it groups."""
    for run in runs:
        for fault in run["report"]["faults"]:
            yield [
                run["package"].split()[0],
                run["format"],
                run["template"],
                f"`{fault['rule']}`",
                fault["shape"],
                len(fault["cases"]),
                f"`{fault['smallest']}`",
            ]


def main():
    work = pathlib.Path(sys.argv[1])
    runs = []
    for line in (work / "runs.tsv").read_text().splitlines():
        folder, server, package, model, template, status = line.split("\t")
        report = work / folder / "parity.json"
        if report.exists():
            runs.append(
                {
                    "server": server,
                    "package": package,
                    "format": model,
                    "template": template,
                    "exit": status,
                    "report": json.loads(report.read_text()),
                }
            )
    runs.sort(key=lambda run: (run["server"], run["template"] not in ("own", "own (README)"), run["format"]))
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    rows = list(figures(runs))
    out = [
        f"# Real servers, {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}\n",
        f"Written by `.ci/real-servers` (tfproxy {commit}). Each server has a puppet with a window of 1,024 tokens and its own tokenizer, parsers,",
        "counters and HTTP; the puppet says what it is told. `own` is the template that `tfproxy puppet` writes, the others are the families'",
        "own, from llama.cpp's source package. Every case is asked at least twice in each mode.\n",
        "## Figures\n",
        *table(FIGURES, rows),
        "Exit 3: ended by the time limit. Exit 4: over a fifth was skipped. llama.cpp holds calls to a grammar of the offered tools, so what the grammar forbids cannot be said",
        "there; longer texts than the window are skipped everywhere.\n",
        "### Prose that nothing cut\n",
        "Cases whose text has no markup and is said to its end.\n",
        *table(["server", "puppet", "template", "cases", "errors", "warnings", "rules"], plain(runs, cases())),
        "## Faults, by curl alone\n",
        "Start the server with the puppet as the README says, then:\n",
        "```sh",
        "URL=http://127.0.0.1:8000",
        (CI / "say.sh").read_text().strip(),
        "```\n",
        "What came, calls without their ids, pieces of a stream joined:\n",
        *reproductions(work),
        "Each is a case of the suite `servers` with the right answer; the bundled engine gives it.\n",
        "## What tfproxy told\n",
        *table(["server", "puppet", "template", "rule", "shape", "cases", "smallest"], faults(runs)),
        (CI / "false-alarms.md").read_text().strip(),
    ]
    print("\n".join(out))


main()
