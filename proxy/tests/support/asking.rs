//! Requests to a running server, sent as the program sends them, and what came back as bytes.

use serde_json::Value;
use std::time::Duration;
use tfproxy::{
    exchange::{Credentials, End, Exchange, Limits, Sender},
    plan::Planned,
    request::{Dialect, Mode, Request},
};
use tokio::runtime::Runtime;

/// Sends to one server, one request at a time.
pub struct Asking {
    runtime: Runtime,
    sender: Sender,
}

// === impl Asking ===

impl Asking {
    /// A client of that server.
    pub fn of(url: &str) -> Self {
        let limits = Limits::of(Duration::from_secs(60));
        let sender = Sender::new(url.parse().unwrap(), Credentials::default(), limits).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, sender }
    }

    /// Makes an exchange that was planned; its answer has to be a success that ended well.
    pub fn planned(&self, planned: &Planned) -> Exchange {
        let exchange = self.runtime.block_on(self.sender.exchange(planned));
        let body = String::from_utf8_lossy(&exchange.body()).into_owned();
        assert_eq!((exchange.status(), &exchange.end), (Some(200), &End::Complete), "{body}");
        exchange
    }

    /// Posts a chat request with these headers besides.
    pub fn chat(&self, body: &Value, headers: &[(&str, &str)]) -> Exchange {
        let json = [("content-type", "application/json")];
        let headers = json.iter().chain(headers).map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        let mode = if body["stream"] == true { Mode::Stream } else { Mode::Whole };
        let request = Request {
            dialect: Dialect::OpenaiChat,
            path: Dialect::OpenaiChat.path().to_owned(),
            headers: headers.collect(),
            body: body.to_string().into(),
        };
        self.planned(&Planned { mode, rounds: None, request })
    }

    /// The body of a path.
    pub fn get(&self, path: &str) -> String {
        let body = self.runtime.block_on(self.sender.get(path)).unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    }
}
