//! One request of a connection.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use portcullis_http1::{Method, Version};
use quinn::{RecvStream, SendStream};

use super::Shared;
use super::downstream::Http3;
use super::frame::Code;
use super::receive::{Broken, Part, Receiving};
use super::section::{self, Refused};
use crate::error::ProxyError;
use crate::exchange::{Ended, Surroundings, run};
use crate::reason::Reason;
use crate::scratch::Scratch;
use crate::telemetry::Record;
use crate::timer::{Timer, within};

/// A stream, counted while it is open.
struct OpenStream(Rc<Shared>);

impl OpenStream {
    fn new(shared: Rc<Shared>) -> OpenStream {
        shared.streams.set(shared.streams.get() + 1);
        OpenStream(shared)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.set(self.0.streams.get().saturating_sub(1));
        self.0.changed.notify_one();
    }
}

/// Serves a request in a task of its own.
pub(super) fn start(shared: &Rc<Shared>, send: SendStream, receive: RecvStream) {
    let open = OpenStream::new(Rc::clone(shared));
    tokio::task::spawn_local(async move { serve(&open.0, send, receive).await });
}

async fn serve(shared: &Rc<Shared>, send: SendStream, receive: RecvStream) {
    let worker = &shared.worker;
    let limits = &worker.shared.options.limits;
    let timer = worker.timer();
    timer.set(limits.head_timeout);
    let mut scratch = worker.scratches.take();
    let mut receiving = Receiving::new(receive, section::largest(limits), Rc::clone(&shared.load));
    let head = within(&timer, read(shared, &mut receiving, &mut scratch)).await;
    let client = shared.client();
    let mut record = Record::new(client.address, Version::Http3);
    let mut http3 = Http3::new(send, receiving, &scratch.request, limits);
    match head {
        Some(Ok(())) => {
            let config = worker.config();
            let served = config.port(&shared.address);
            let around = Surroundings { worker, timer: &timer, client: &client, served };
            let ended = run(&around, &mut scratch, &mut http3, &mut record).await;
            drop(config);
            record.count(&worker.metrics);
            match ended {
                Ok(Ended::Answered) => worker.scratches.give_back(scratch),
                // No request of HTTP/3 asks for a tunnel.
                Ok(Ended::Switched(..)) => http3.reset(Code::Internal),
                Err(error) => fail(shared, &mut http3, &error),
            }
        }
        Some(Err(Unread::Answer(status, reason))) => {
            (record.status, record.reason) = (status, reason);
            http3.refuse(status);
            record.count(&worker.metrics);
        }
        Some(Err(Unread::Reset(code))) => {
            shared.resets.borrow_mut().count();
            return http3.reset(code);
        }
        Some(Err(Unread::Connection(code))) => return shared.fail(code),
        None => {
            worker.metrics.refused(Reason::ClientTimeout);
            return http3.reset(Code::RequestCancelled);
        }
    }
    if let Some(log) = &worker.shared.access_log {
        log.write(&record);
    }
    deliver(&timer, limits.body_timeout, &mut http3).await;
}

/// A stream lasts until its answer has arrived: a connection that ends takes with it what has not.
async fn deliver(timer: &Timer, timeout: Duration, http3: &mut Http3<'_>) {
    timer.set(timeout);
    if within(timer, http3.delivered()).await.is_none() {
        http3.reset(Code::RequestCancelled);
    }
}

fn fail(shared: &Shared, http3: &mut Http3<'_>, error: &ProxyError) {
    if error.is_the_clients() && !http3.ended() {
        shared.resets.borrow_mut().count();
    }
    match http3.broken() {
        Some(code) => shared.fail(code),
        None => http3.cut(error),
    }
}

/// Why there is no request.
enum Unread {
    Answer(u16, Reason),
    Reset(Code),
    Connection(Code),
}

impl From<Broken> for Unread {
    fn from(broken: Broken) -> Unread {
        match broken {
            Broken::Gone => Unread::Reset(Code::RequestCancelled),
            Broken::TooLarge => Unread::Answer(431, Reason::HeadTooLarge),
            Broken::Protocol(code) => Unread::Connection(code),
        }
    }
}

impl From<Refused> for Unread {
    fn from(refused: Refused) -> Unread {
        match refused {
            Refused::Answer(status, reason) => Unread::Answer(status, reason),
            Refused::Connection(code) => Unread::Connection(code),
        }
    }
}

/// Reads the head.
async fn read(shared: &Shared, receiving: &mut Receiving, scratch: &mut Scratch) -> Result<(), Unread> {
    let limits = &shared.worker.shared.options.limits;
    let section = match poll_fn(|cx| receiving.poll_part(cx)).await? {
        Some(Part::Fields(section)) => section,
        Some(Part::Data(_)) => return Err(Unread::Connection(Code::FrameUnexpected)),
        None => return Err(Unread::Reset(Code::RequestIncomplete)),
    };
    section::read(&mut scratch.request, &section, limits)?;
    let ended = ends(receiving, scratch.request.method()).await?;
    Ok(section::finish(&mut scratch.request, ended, limits)?)
}

/// Whether no body follows. The end of a stream may come after the head, on its own; requests that have no body, by
/// their method, wait for it, so that backends see them as what they are.
async fn ends(receiving: &mut Receiving, method: Method) -> Result<bool, Broken> {
    let bodiless = matches!(method, Method::Get | Method::Head | Method::Delete | Method::Options);
    let more = poll_fn(|cx| match receiving.poll_more(cx) {
        Poll::Pending if !bodiless => Poll::Ready(Ok(true)),
        polled => polled,
    });
    Ok(!more.await?)
}
