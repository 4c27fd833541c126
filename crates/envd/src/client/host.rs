//! What only the host asks: health, identity, usage, ports, and the night.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes};
use http::{Method, StatusCode, header};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use secrecy::ExposeSecret;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Envd, EnvdError, Init, Line, Metrics, ask::json, line::Load};

impl Envd {
    /// Whether it answers.
    pub async fn health(&self) -> Result<(), EnvdError> {
        self.ask(self.request(Method::GET, "/health"), Load::Whole(None)).await?.whole().await.map(drop)
    }

    /// Tells it who it is. May be repeated.
    pub async fn init(&self, init: &Init) -> Result<(), EnvdError> {
        let mut body = serde_json::json!({ "envVars": init.env });
        for (name, value) in [
            ("accessToken", init.token.as_ref().map(ExposeSecret::expose_secret)),
            ("defaultUser", init.default_user.as_deref()),
            ("defaultWorkdir", init.default_workdir.as_deref()),
            ("hostname", init.hostname.as_deref()),
        ] {
            if let Some(value) = value {
                body[name] = value.into();
            }
        }
        let (builder, load) = json(self.request(Method::POST, "/init"), &body);
        self.ask(builder, load).await?.whole().await.map(drop)
    }

    /// What it uses.
    pub async fn metrics(&self) -> Result<Metrics, EnvdError> {
        #[derive(Deserialize)]
        #[serde(default)]
        #[derive(Default)]
        struct Measured {
            cpu_count: u32,
            cpu_used_pct: f64,
            mem_total: u64,
            mem_used: u64,
            disk_used: u64,
            disk_total: u64,
        }
        let body = self.ask(self.request(Method::GET, "/metrics"), Load::Whole(None)).await?.whole().await?;
        let measured: Measured = serde_json::from_slice(&body)
            .map_err(|error| EnvdError::Broken(format!("the answer is not understood: {error}")))?;
        Ok(Metrics {
            cpu_count: measured.cpu_count,
            cpu_used_pct: measured.cpu_used_pct,
            mem_total: measured.mem_total,
            mem_used: measured.mem_used,
            disk_used: measured.disk_used,
            disk_total: measured.disk_total,
        })
    }

    /// Makes it close every line and be deaf for a moment, so that its sandbox can be dumped: when this returns, nothing
    /// inside leads outside. It listens again by itself after `hold`, here or wherever the dump is restored.
    pub async fn hibernate(&self, hold: Duration) -> Result<(), EnvdError> {
        self.hang_up();
        let target = format!("/hibernate?hold_ms={}", hold.as_millis());
        let mut answer = self.ask(self.request(Method::POST, &target), Load::Whole(None)).await?;
        answer.whole().await?;
        if let Some(line) = answer.into_line() {
            line.until_closed().await;
        }
        self.hang_up();
        Ok(())
    }

    /// A raw line to a port that something inside listens on, also when it listens on loopback alone.
    /// `NotFound` when nobody listens there.
    pub async fn port(&self, port: u16) -> Result<Box<dyn Line>, EnvdError> {
        if let Some(line) = self.lines.dial_port(port).await {
            return line;
        }
        let request = self
            .request(Method::POST, &format!("/port?port={port}"))
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "carrel-port")
            .body(Load::Whole(None))
            .map_err(|error| EnvdError::Invalid(error.to_string()))?;
        let line = self.lines.dial().await?;
        let (mut sender, connection) = handshake(TokioIo::new(line)).await.map_err(EnvdError::of_http)?;
        let driven = tokio::spawn(connection.with_upgrades());
        let response = sender.send_request(request).await.map_err(EnvdError::of_http)?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let status = response.status();
            let body = http_body_util::BodyExt::collect(response.into_body()).await.map_err(EnvdError::of_http)?;
            driven.abort();
            return Err(match EnvdError::of_answer(status, &body.to_bytes()) {
                EnvdError::Unreachable(_) if status == StatusCode::BAD_GATEWAY => {
                    EnvdError::NotFound(format!("nobody listens on port {port}"))
                }
                other => other,
            });
        }
        let upgraded = hyper::upgrade::on(response).await.map_err(EnvdError::of_http)?;
        match upgraded.downcast::<TokioIo<Box<dyn Line>>>() {
            Ok(parts) => Ok(Box::new(Tunnel { early: parts.read_buf, line: parts.io.into_inner() })),
            Err(upgraded) => Ok(Box::new(TokioIo::new(upgraded))),
        }
    }
}

/// A line, and what came over it together with the answer.
struct Tunnel {
    early: Bytes,
    line: Box<dyn Line>,
}

impl AsyncRead for Tunnel {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.early.is_empty() {
            return Pin::new(&mut self.line).poll_read(cx, buffer);
        }
        let count = buffer.remaining().min(self.early.len());
        buffer.put_slice(&self.early[..count]);
        self.early.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.line).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.line).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.line.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_shutdown(cx)
    }
}
