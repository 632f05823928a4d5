//! The access log: a line a request, connection or flow, written by a thread of its own, so that a slow disk delays no request.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use serde_json::json;

use super::record::{Record, Summary};
use super::session::SessionRecord;
use super::session_lines;
use crate::options::{AccessLogFormat, AccessLogOptions};
use crate::proxy::StartError;

/// Lines that wait for the disk; more are lost, and counted.
const QUEUE: usize = 16 * 1024;

/// Where lines go.
pub(crate) struct AccessLog {
    format: AccessLogFormat,
    /// None is standard output.
    file: Option<LogFile>,
    lines: SyncSender<String>,
    lost: AtomicU64,
}

/// A file that can be exchanged for a new one of the same path while it is written to.
#[derive(Clone)]
struct LogFile {
    path: PathBuf,
    current: Arc<ArcSwap<File>>,
}

impl LogFile {
    fn open(path: &Path) -> io::Result<LogFile> {
        Ok(LogFile { path: path.to_owned(), current: Arc::new(ArcSwap::from_pointee(append_to(path)?)) })
    }

    fn reopen(&self) -> io::Result<()> {
        self.current.store(Arc::new(append_to(&self.path)?));
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

impl AccessLog {
    pub(crate) fn open(options: &AccessLogOptions) -> Result<AccessLog, StartError> {
        let open =
            |path: &Path| LogFile::open(path).map_err(|error| StartError::AccessLog(path.to_owned(), error));
        let file = options.path.as_deref().map(open).transpose()?;
        let (lines, queue) = sync_channel(QUEUE);
        let output = file.clone();
        std::thread::Builder::new()
            .name("access-log".into())
            .spawn(move || write(output.as_ref(), &queue))?;
        Ok(AccessLog { format: options.format, file, lines, lost: AtomicU64::new(0) })
    }

    /// Opens the file anew, for it may have been moved away; false if lines go to standard output. The old one is
    /// closed once the line under way is written, and stays if the new one cannot be opened.
    pub(crate) fn reopen(&self) -> io::Result<bool> {
        self.file.as_ref().map(LogFile::reopen).transpose().map(|reopened| reopened.is_some())
    }

    pub(crate) fn write(&self, record: &Record) {
        self.line(match self.format {
            AccessLogFormat::Text => text(record),
            AccessLogFormat::Json => json(record),
        });
    }

    pub(crate) fn write_session(&self, record: &SessionRecord) {
        self.line(match self.format {
            AccessLogFormat::Text => session_lines::text(record),
            AccessLogFormat::Json => session_lines::json(record),
        });
    }

    fn line(&self, line: String) {
        if self.lines.try_send(line).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Lines that were lost because the disk was too slow.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

fn write(file: Option<&LogFile>, queue: &Receiver<String>) {
    while let Ok(line) = queue.recv() {
        let mut batch = line;
        batch.push('\n');
        while batch.len() < 64 * 1024
            && let Ok(line) = queue.try_recv()
        {
            batch.push_str(&line);
            batch.push('\n');
        }
        // There is nobody to tell that a log cannot be written but the log.
        let _ = match file {
            Some(file) => (&**file.current.load()).write_all(batch.as_bytes()),
            None => io::stdout().write_all(batch.as_bytes()).and_then(|()| io::stdout().flush()),
        };
    }
}

fn millis(record: &Record) -> f64 {
    (record.started.elapsed().as_micros() as f64) / 1000.0
}

/// Words in a fixed order; those that a client chooses are quoted and escaped.
fn text(record: &Record) -> String {
    let none =
        Summary { method: "-".into(), authority: "-".into(), path: "-".into(), user_agent: "-".into() };
    let summary = record.summary.as_ref().unwrap_or(&none);
    let request = format!("{} {}{}", summary.method, summary.authority, summary.path);
    let rule = record.rule().map_or_else(|| "-".into(), |rule| rule.to_string());
    format!(
        "{:.3} {} {request:?} {} {} received={} sent={} ms={:.3} listener={} route={} rule={rule} endpoint={} \
         attempts={} id={} agent={:?}",
        Timestamp::now(),
        record.client,
        record.status,
        record.reason.as_str(),
        record.received,
        record.sent,
        millis(record),
        record.listener(),
        record.route(),
        record.endpoint(),
        record.attempts,
        String::from_utf8_lossy(&record.request_id),
        summary.user_agent,
    )
}

fn json(record: &Record) -> String {
    let summary = record.summary.as_ref();
    let present = |text: String| (text != "-").then_some(text);
    json!({
        "time": format!("{:.3}", Timestamp::now()),
        "client": record.client.to_string(),
        "method": summary.map(|summary| &summary.method),
        "authority": summary.map(|summary| &summary.authority),
        "path": summary.map(|summary| &summary.path),
        "user_agent": summary.map(|summary| &summary.user_agent),
        "protocol": protocol(record),
        "status": record.status,
        "reason": record.reason.as_str(),
        "bytes_received": record.received,
        "bytes_sent": record.sent,
        "duration_ms": millis(record),
        "listener": present(record.listener()),
        "route": present(record.route()),
        "rule": record.rule(),
        "endpoint": present(record.endpoint().to_owned()),
        "attempts": record.attempts,
        "request_id": String::from_utf8_lossy(&record.request_id),
    })
    .to_string()
}

fn protocol(record: &Record) -> &'static str {
    use portcullis_http1::Version;
    match record.version {
        Version::Http10 => "HTTP/1.0",
        Version::Http11 => "HTTP/1.1",
        Version::Http2 => "HTTP/2",
        Version::Http3 => "HTTP/3",
    }
}

#[cfg(test)]
mod tests {
    use portcullis_http1::Version;

    use super::*;
    use crate::reason::Reason;

    fn record() -> Record {
        let mut record = Record::new(([192, 0, 2, 1], 5000).into(), Version::Http2);
        record.summary = Some(Summary {
            method: "GET".into(),
            authority: "a.test".into(),
            path: "/\u{1b}\"x".into(),
            user_agent: "curl \u{7}".into(),
        });
        record.status = 404;
        record.reason = Reason::NoRule;
        record.request_id = b"id".to_vec();
        record
    }

    /// A line is one line, and nothing a client sends reaches a terminal raw.
    #[test]
    fn what_a_client_sends_is_escaped() {
        let line = text(&record());
        assert!(line.contains(r#"192.0.2.1:5000 "GET a.test/\u{1b}\"x" 404 no_rule"#), "{line}");
        assert!(!line.contains(['\u{1b}', '\u{7}', '\n']));
    }

    /// RFC 3339 in milliseconds, always three digits of them, so that lines sort and columns align.
    #[test]
    fn times_have_three_digits_of_a_second() {
        let (text, json) = (text(&record()), json(&record()));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        for time in [text.split(' ').next().unwrap(), json["time"].as_str().unwrap()] {
            assert!(time.parse::<Timestamp>().is_ok(), "{time}");
            assert_eq!(
                (time.len(), &time[19..20], &time[23..]),
                ("2026-01-02T03:04:05.678Z".len(), ".", "Z"),
                "{time}"
            );
        }
    }

    #[test]
    fn json_has_a_field_for_each_question() {
        let line: serde_json::Value = serde_json::from_str(&json(&record())).unwrap();
        assert_eq!(line["protocol"], "HTTP/2");
        assert_eq!(line["reason"], "no_rule");
        assert_eq!(line["route"], serde_json::Value::Null);
        assert_eq!(line["path"], "/\u{1b}\"x");
    }
}
