//! `curl.sh`: the request again, once in each mode that was recorded, with curl and a shell alone.
//!
//! In: a recording's requests. Out: the script's bytes. Keys are named, never written; everything that came from
//! outside stands in single quotes.

use super::{form::mode_name, redact};
use crate::request::{Mode, Request, handed::Pieces};

const PREAMBLE: &str = "\
#!/bin/sh
# Sends the recorded requests again. UPSTREAM names another server; API_KEY holds the key, where one is needed.
set -eu
key=${API_KEY:-}
ask() {
    printf '== %s\\n' \"$1\" >&2
    shift
    curl --silent --show-error --no-buffer --include ${key:+--header \"authorization: Bearer $key\"} \"$@\"
    printf '\\n'
}
";

/// The script; `None` where a body holds a NUL, which no shell can quote.
pub(super) fn script(upstream: Option<&str>, requests: &[(Mode, &Request)]) -> Option<Vec<u8>> {
    if requests.iter().any(|(_, request)| request.body.contains(&0)) {
        return None;
    }
    let mut script = PREAMBLE.as_bytes().to_vec();
    let url = upstream.filter(|u| u.contains("://")).map(redact::url);
    let url = url.unwrap_or_else(|| "http://127.0.0.1:8080".to_owned());
    script.extend_from_slice(b"upstream=${UPSTREAM:-");
    script.extend(quoted(url.trim_end_matches('/').as_bytes()));
    script.extend_from_slice(b"}\n");
    for (mode, request) in requests {
        script.extend(match Pieces::of(request) {
            Some(pieces) => handing(request, &pieces),
            None => call(*mode, request),
        });
    }
    Some(script)
}

fn call(mode: Mode, request: &Request) -> Vec<u8> {
    let mut call = b"printf '%s' ".to_vec();
    call.extend(quoted(&request.body));
    call.extend_from_slice(format!(" |\n    ask {} --data-binary @-", mode_name(mode)).as_bytes());
    call.extend(words(request));
    call.push(b'\n');
    call
}

/// A request a piece, each with what the answer to the one before said behind `stream_state`, its last key.
fn handing(request: &Request, pieces: &Pieces) -> Vec<u8> {
    let mut script = b"state=null\npiece() {\n    answer=$(printf '%s%s}' \"$1\" \"$state\" |\n    \
        curl --silent --show-error ${key:+--header \"authorization: Bearer $key\"} --data-binary @-"
        .to_vec();
    script.extend(words(request));
    script.extend_from_slice(
        b")\n    printf '%s\\n' \"$answer\"\n    state=${answer##*'\"stream_state\":'}\n    state=${state%\\}}\n}\n",
    );
    for head in (0..pieces.count()).filter_map(|at| pieces.head(at)) {
        script.extend_from_slice(b"piece ");
        script.extend(quoted(head.as_bytes()));
        script.push(b'\n');
    }
    script
}

/// The headers and the address, as words of a command.
fn words(request: &Request) -> Vec<u8> {
    let mut words = Vec::new();
    for (name, value) in sendable(request) {
        words.extend_from_slice(b" \\\n        --header ");
        words.extend(quoted(format!("{name}: {value}").as_bytes()));
    }
    words.extend_from_slice(b" \\\n        \"$upstream\"");
    words.extend(quoted(redact::path(&request.path).as_bytes()));
    words
}

fn sendable(request: &Request) -> impl Iterator<Item = (&str, &str)> {
    let typed = request.headers.iter().any(|(name, _)| name == "content-type");
    let json = (!typed).then_some(("content-type", "application/json"));
    let own = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    json.into_iter().chain(own.filter(|(name, value)| {
        *value != redact::REDACTED && !redact::is_secret_header(name, value.as_bytes())
    }))
}

/// In single quotes; a single quote becomes `'\''`.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Dialect;
    use std::process::Command;

    fn request(path: &str, headers: &[(&str, &str)], body: &'static [u8]) -> Request {
        Request {
            dialect: Dialect::OpenaiChat,
            path: path.to_owned(),
            headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            body: body.into(),
        }
    }

    /// Runs a script with a `curl` that writes down its arguments, one a line, and its standard input.
    fn run(script: &[u8], environment: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let fake = folder.path().join("curl");
        std::fs::write(&fake, "#!/bin/sh\nprintf '<%s>\\n' \"$@\"\ncat\n").unwrap();
        assert!(Command::new("chmod").arg("+x").arg(&fake).status().unwrap().success());
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let file = folder.path().join("curl.sh");
        std::fs::write(&file, script).unwrap();
        let mut command = Command::new("/bin/sh");
        command.arg(file).env("PATH", path).envs(environment.iter().copied());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn nothing_from_outside_is_run_and_the_body_arrives_as_it_is() {
        let body = b"{\"a\":\"it's $(touch x) `id` \\n \\\\ %s\n\"}";
        let request = request("/v1/$(id)'", &[("x-odd", "a'; exit 3; '$HOME")], body);
        let out = run(&script(Some("http://h:1/"), &[(Mode::Stream, &request)]).unwrap(), &[]);
        assert!(out.contains("<http://h:1/v1/$(id)'>"), "{out}");
        assert!(out.contains("<x-odd: a'; exit 3; '$HOME>"), "{out}");
        assert!(out.contains(std::str::from_utf8(body).unwrap()), "{out}");
        assert!(!out.contains("authorization"), "{out}");
    }

    #[test]
    fn the_key_and_the_upstream_come_from_the_environment() {
        let request = request("/v1?key=s3cret", &[("authorization", "Bearer s3cret")], b"{}");
        let script = script(None, &[(Mode::Whole, &request)]).unwrap();
        assert!(!String::from_utf8_lossy(&script).contains("s3cret"));
        let out = run(&script, &[("API_KEY", "a b"), ("UPSTREAM", "http://other")]);
        assert!(out.contains("<authorization: Bearer a b>"), "{out}");
        assert!(out.contains("<http://other/v1?key=[redacted]>"), "{out}");
    }

    /// Each piece goes out with the state that the answer to the one before it ended in.
    #[test]
    fn pieces_are_handed_one_after_the_other() {
        let body = br#"{"stream":true,"generate_chunk":[{"it's":1},{"n":2}]}"#;
        let request = request(crate::request::handed::PATH, &[], body);
        let script = String::from_utf8(script(None, &[(Mode::Stream, &request)]).unwrap()).unwrap();
        // A server that says what it was sent as its state, behind a chunk that names one too.
        let folder = tempfile::tempdir().unwrap();
        let fake = folder.path().join("curl");
        let answer = r#"printf '{"chunk":{"stream_state":0},"stream_state":{"n":%s}}' "$(wc -c)""#;
        std::fs::write(&fake, format!("#!/bin/sh\ntee -a \"$0.sent\" | {{ {answer}; }}\n")).unwrap();
        assert!(Command::new("chmod").arg("+x").arg(&fake).status().unwrap().success());
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).env("PATH", path);
        assert!(command.output().unwrap().status.success());
        let sent = std::fs::read_to_string(folder.path().join("curl.sent")).unwrap();
        let first = r#"{"stream":true,"generate_chunk":{"it's":1},"stream_state":null}"#;
        let second =
            format!(r#"{{"stream":true,"generate_chunk":{{"n":2}},"stream_state":{{"n":{}}}}}"#, first.len());
        assert_eq!(sent, format!("{first}{second}"));
    }

    #[test]
    fn a_nul_cannot_be_quoted() {
        assert_eq!(script(None, &[(Mode::Whole, &request("/", &[], b"\0"))]), None);
    }
}
