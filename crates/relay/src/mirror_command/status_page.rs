//! `/metrics` and `/health` of a mirror on its own.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::mirror::MirrorStatus;

/// How long one connection of a monitor may take.
const REQUEST_MAX: Duration = Duration::from_secs(10);

/// What is told to monitors.
pub(super) struct Told {
    pub(super) metrics: Box<dyn Fn() -> String + Send + Sync>,
    pub(super) is_healthy: Box<dyn Fn() -> bool + Send + Sync>,
    pub(super) status: MirrorStatus,
}

/// Listens, and gives what answers for as long as it is polled.
pub(super) async fn bind(
    address: SocketAddr,
    told: Told,
) -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("listen on {address}"))?;
    let address = listener.local_addr().context("read the listening address")?;
    tracing::info!(%address, "serving /metrics and /health");
    Ok(async move {
        loop {
            // One connection at a time: monitors ask seldom, and nobody else should ask.
            if let Ok((socket, _)) = listener.accept().await {
                _ = timeout(REQUEST_MAX, serve(socket, &told)).await;
            }
        }
    })
}

async fn serve(socket: TcpStream, told: &Told) {
    let service = service_fn(|request| {
        let answer = answer(&request, told);
        async move { Ok::<_, Infallible>(answer) }
    });
    let mut http = http1::Builder::new();
    let connection = http.timer(TokioTimer::new()).keep_alive(false);
    if let Err(error) = connection.serve_connection(TokioIo::new(socket), service).await {
        tracing::debug!(%error, "http failed");
    }
}

fn answer(request: &Request<Incoming>, told: &Told) -> Response<Full<Bytes>> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let (code, text) = match request.uri().path() {
        "/metrics" if is_read => (StatusCode::OK, (told.metrics)()),
        "/health" if is_read && (told.is_healthy)() => (StatusCode::OK, told.status.line() + "\n"),
        "/health" if is_read => {
            (StatusCode::SERVICE_UNAVAILABLE, "the store takes no events\n".to_owned())
        }
        "/metrics" | "/health" => (StatusCode::METHOD_NOT_ALLOWED, String::new()),
        _ => (StatusCode::NOT_FOUND, "this is a mirror: /metrics and /health\n".to_owned()),
    };
    let mut answer = Response::new(Full::new(text.into()));
    *answer.status_mut() = code;
    let plain = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, plain);
    answer
}
