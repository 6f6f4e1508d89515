//! HTTP on the relay's one address: the upgrade to WebSocket, and what browsers and monitors ask.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use fastwebsockets::upgrade::{UpgradeFut, is_upgrade_request, upgrade};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::timeout;
use zeolite_policy::Moderation;
use zeolite_proto::PubKey;

use crate::admin::Admin;
use crate::clients::Visitor;
use crate::config::Config;
use crate::conn;
use crate::herald::Herald;
use crate::hub::Hub;
use crate::limits::{ADMIN_BODY_BYTES_MAX, HTTP_BUFFER_BYTES_MAX};
use crate::login::LoginDesk;
use crate::mirror::MirrorStatus;
use crate::registry::Seat;
use crate::{admin, landing, nip11};

type Answer = Response<Full<Bytes>>;

/// What HTTP answers with. The pages are made once, but for what mirrors say.
pub(crate) struct Site {
    config: Config,
    pages: ArcSwap<Pages>,
    handshake_max: Duration,
    mirrors: Vec<MirrorStatus>,
    admin: Option<Admin>,
    /// Who clients can show to be.
    logins: Arc<LoginDesk>,
    /// Whose key is the relay's own.
    herald: Arc<Herald>,
}

/// What the configuration, and what administrators changed of it, says to people.
struct Pages {
    document: Bytes,
    landing: Bytes,
}

impl Pages {
    fn new(config: &Config, own_key: Option<PubKey>) -> Self {
        let document = nip11::document(config, own_key).into();
        Self { document, landing: landing::page(config).into() }
    }
}

impl Site {
    pub(crate) fn new(
        config: Config,
        moderation: &Moderation,
        mirrors: Vec<MirrorStatus>,
        admin: Option<Admin>,
        logins: Arc<LoginDesk>,
        herald: Arc<Herald>,
    ) -> Self {
        let handshake_max = Duration::from_secs(config.server.handshake_s_max);
        let pages = ArcSwap::from_pointee(Pages::new(&config, herald.pubkey()));
        let site = Self { config, pages, handshake_max, mirrors, admin, logins, herald };
        site.refresh(moderation);
        site
    }

    /// Makes the pages anew, with what administrators changed (R86-05).
    fn refresh(&self, moderation: &Moderation) {
        let mut config = self.config.clone();
        let changes = [
            (&mut config.relay.name, moderation.relay_name()),
            (&mut config.relay.description, moderation.relay_description()),
            (&mut config.relay.icon, moderation.relay_icon()),
        ];
        for (text, change) in changes {
            if let Some(change) = change {
                *text = Some(change.to_owned()).filter(|text| !text.is_empty());
            }
        }
        self.pages.store(Arc::new(Pages::new(&config, self.herald.pubkey())));
    }

    /// The page as it is at this moment.
    fn landing_page(&self) -> Bytes {
        let page = self.pages.load().landing.clone();
        if self.mirrors.is_empty() {
            return page;
        }
        let lines: Vec<_> = self.mirrors.iter().map(MirrorStatus::line).collect();
        [&page[..], landing::mirrors(&lines).as_bytes()].concat().into()
    }
}

/// Serves one socket: HTTP for as long as [`Site::handshake_max`], then, if it asked for an
/// upgrade, WebSocket in a task of its own, so that HTTP's memory is given back.
///
/// The time-out is ours: hyper counts from a request's first byte, and only while headers are read
/// (case 55).
pub(crate) async fn serve(
    hub: Arc<Hub>,
    site: Arc<Site>,
    socket: TcpStream,
    seat: Seat,
    visitor: Visitor,
) {
    let upgrading = Mutex::new(None);
    let peer = visitor.address;
    let service = service_fn(|mut request| {
        let (hub, site, upgrading) = (&hub, &site, &upgrading);
        async move {
            let is_order = site.admin.is_some() && is_order(&request);
            Ok::<_, Infallible>(match is_order {
                true => order(site, request).await,
                false => answer(hub, site, peer, &mut request, upgrading),
            })
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(site.handshake_max)
        .max_buf_size(HTTP_BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(socket), service)
        .with_upgrades();
    match timeout(site.handshake_max, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return tracing::debug!(%error, "http failed"),
        Err(_) => return tracing::debug!("http took too long"),
    }
    let asked = upgrading.into_inner();
    if let Some(Asked { upgrade, client }) = asked
        && let Some((socket, early)) = upgraded(upgrade).await
    {
        let conn = hub.registry.enter(&seat, client.unwrap_or(visitor), &site.logins);
        tokio::spawn(conn::run(hub, seat, conn, socket, early));
    }
}

/// A WebSocket that was asked for.
struct Asked {
    upgrade: UpgradeFut,
    /// For whom a proxy speaks.
    client: Option<Visitor>,
}

/// The socket itself, and what was read of it beyond the request: a copy, since even an empty view
/// of HTTP's buffer would keep its 8 kB.
async fn upgraded(asked: UpgradeFut) -> Option<(TcpStream, Bytes)> {
    let upgraded = asked.await.ok()?.into_inner().into_inner();
    let parts = upgraded.downcast::<TokioIo<TcpStream>>().ok()?;
    Some((parts.io.into_inner(), Bytes::copy_from_slice(&parts.read_buf)))
}

fn answer(
    hub: &Hub,
    site: &Site,
    peer: IpAddr,
    request: &mut Request<Incoming>,
    upgrading: &Mutex<Option<Asked>>,
) -> Answer {
    let is_upgrade = is_upgrade_request(request);
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/") if is_upgrade => start_upgrade(hub, peer, request, upgrading),
        (_, _) if is_upgrade => text(StatusCode::NOT_FOUND, "the relay is at /\n"),
        (&Method::OPTIONS, "/") => with_cors(empty(StatusCode::NO_CONTENT)),
        (&Method::GET | &Method::HEAD, "/") if wants_document(request.headers()) => {
            with_cors(page(nip11::MEDIA_TYPE, site.pages.load().document.clone()))
        }
        (&Method::GET | &Method::HEAD, "/") => {
            with_cors(page("text/html; charset=utf-8", site.landing_page()))
        }
        (&Method::GET, "/metrics") => {
            page("text/plain; version=0.0.4", hub.render_metrics().into())
        }
        (&Method::GET | &Method::HEAD, "/health") if hub.is_writable() => {
            text(StatusCode::OK, "ok\n")
        }
        (&Method::GET | &Method::HEAD, "/health") => {
            text(StatusCode::SERVICE_UNAVAILABLE, "the store takes no events\n")
        }
        (_, "/" | "/metrics" | "/health") => empty(StatusCode::METHOD_NOT_ALLOWED),
        _ => text(StatusCode::NOT_FOUND, "nothing here; the relay is at /\n"),
    }
}

/// Accepts a WebSocket. No extension is ever accepted: the frame reader knows none.
fn start_upgrade(
    hub: &Hub,
    peer: IpAddr,
    request: &mut Request<Incoming>,
    upgrading: &Mutex<Option<Asked>>,
) -> Answer {
    const VERSION: HeaderValue = HeaderValue::from_static("13");
    if request.headers().get(header::SEC_WEBSOCKET_VERSION) != Some(&VERSION) {
        let mut answer = empty(StatusCode::UPGRADE_REQUIRED);
        answer.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, VERSION);
        return answer;
    }
    let client = match behind_proxy(hub, peer, request.headers()) {
        Ok(client) => client,
        Err(refusal) => {
            hub.metrics.connections_refused.increment(1);
            return *refusal;
        }
    };
    match upgrade(request) {
        Ok((answer, upgrade)) => {
            *upgrading.lock() = Some(Asked { upgrade, client });
            answer.map(|_| Full::default())
        }
        Err(_) => text(StatusCode::BAD_REQUEST, "not a WebSocket handshake\n"),
    }
}

/// R86-01: a request of an administrator.
fn is_order(request: &Request<Incoming>) -> bool {
    let media_type = request.headers().get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    request.method() == Method::POST
        && request.uri().path() == "/"
        && media_type.eq_ignore_ascii_case(admin::MEDIA_TYPE)
}

/// Carries out an order; in a thread that may wait, since it goes to the disk.
async fn order(site: &Arc<Site>, request: Request<Incoming>) -> Answer {
    let token = request.headers().get(header::AUTHORIZATION);
    let token = token.and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = Limited::new(request.into_body(), ADMIN_BODY_BYTES_MAX).collect().await;
    let Ok(body) = body.map(|body| body.to_bytes()) else {
        return with_cors(text(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large\n"));
    };
    let ordering = Arc::clone(site);
    let done = tokio::task::spawn_blocking(move || {
        let admin = ordering.admin.as_ref()?;
        let done = admin.answer(Method::POST.as_str(), token.as_deref(), &body);
        if done.changes_document {
            ordering.refresh(&admin.moderation());
        }
        Some(done)
    });
    let Ok(Some(done)) = done.await else {
        return text(StatusCode::INTERNAL_SERVER_ERROR, "the order failed\n");
    };
    let mut answer = page("application/json", done.body.into());
    *answer.status_mut() = done.status;
    with_cors(answer)
}

/// For whom a trusted proxy speaks, if that one may come in; `None` for a client of its own.
fn behind_proxy(
    hub: &Hub,
    peer: IpAddr,
    headers: &HeaderMap,
) -> Result<Option<Visitor>, Box<Answer>> {
    let proxies = hub.clients.proxies();
    if !proxies.trusts(peer) {
        return Ok(None);
    }
    let address = proxies.client(peer, headers);
    if hub.policy.current().moderation.blocked_because(address).is_some() {
        return Err(text(StatusCode::FORBIDDEN, "this address is blocked\n").into());
    }
    match hub.clients.enter(address) {
        Some(account) => Ok(Some(Visitor { address, account: Some(account) })),
        None => Err(text(StatusCode::TOO_MANY_REQUESTS, "too many connections\n").into()),
    }
}

fn wants_document(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(nip11::is_accepted))
}

/// R11-02: the document is for every page of every site.
fn with_cors(mut answer: Answer) -> Answer {
    let headers = answer.headers_mut();
    let any = HeaderValue::from_static("*");
    let methods = HeaderValue::from_static("GET, HEAD, OPTIONS, POST");
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any.clone());
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, any);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    answer
}

fn page(media_type: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

fn text(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = page("text/plain; charset=utf-8", Bytes::from_static(text.as_bytes()));
    *answer.status_mut() = status;
    answer
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}
