//! Spans to a collector of OpenTelemetry, with the feature `otel`: every request, every step of a task and of a sandbox.
//!
//! Where the collector is stands in the variables that every program of this field reads, such as
//! `OTEL_EXPORTER_OTLP_ENDPOINT`; without one nothing is sent. Spans hold routes, numbers, ids and words of our own; nobody's
//! text, and no secret.

use tracing_subscriber::{Layer, Registry, layer::SubscriberExt, util::SubscriberInitExt};

use crate::failure::Failure;

/// The variables that say where the collector is.
const VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// What sends spans, where something does.
pub(crate) struct Spans {
    #[cfg(feature = "otel")]
    provider: Option<opentelemetry_sdk::trace::SdkTracerProvider>,
}

fn is_wanted() -> bool {
    VARIABLES.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

#[cfg(not(feature = "otel"))]
impl Spans {
    /// Starts the log alone.
    pub(crate) fn beside(log: Box<dyn Layer<Registry> + Send + Sync>) -> Result<Spans, Failure> {
        tracing_subscriber::registry().with(log).init();
        if is_wanted() {
            tracing::warn!("{} is left alone: this Carrel was built without the feature `otel`", VARIABLES[0]);
        }
        Ok(Spans {})
    }

    /// There is nothing to send.
    pub(crate) async fn close(self) {}
}

#[cfg(feature = "otel")]
impl Spans {
    /// Starts the log, and beside it the way to the collector. Spans are heard whatever the log is told to leave out.
    pub(crate) fn beside(log: Box<dyn Layer<Registry> + Send + Sync>) -> Result<Spans, Failure> {
        use opentelemetry::trace::TracerProvider;
        use tracing_subscriber::filter::Targets;

        let registry = tracing_subscriber::registry().with(log);
        if !is_wanted() {
            registry.init();
            return Ok(Spans { provider: None });
        }
        let provider = open()?;
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("carrel"));
        registry.with(layer.with_filter(Targets::new().with_target("carrel_span", tracing::Level::DEBUG))).init();
        Ok(Spans { provider: Some(provider) })
    }

    /// Sends what is left.
    pub(crate) async fn close(self) {
        let Some(provider) = self.provider else { return };
        // It waits for a thread of its own.
        match tokio::task::spawn_blocking(move || provider.shutdown()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the last spans were not sent"),
            Err(error) => tracing::warn!(%error, "the last spans were not sent"),
        }
    }
}

#[cfg(feature = "otel")]
fn open() -> Result<opentelemetry_sdk::trace::SdkTracerProvider, Failure> {
    use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
    use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};

    let courier = Courier { http: reqwest::Client::new(), runtime: tokio::runtime::Handle::current() };
    let exporter = SpanExporter::builder().with_http().with_http_client(courier).with_protocol(Protocol::HttpBinary);
    let exporter = exporter.build().map_err(|error| {
        Failure::new(format!("spans cannot be sent to the collector: {error}"))
            .hint("OTEL_EXPORTER_OTLP_ENDPOINT is an address such as http://127.0.0.1:4318")
            .exit(crate::failure::Exit::Usage)
    })?;
    let about = Resource::builder().with_service_name("carrel").build();
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(about).build())
}

/// Carries spans. They are put together on a thread of their own, on which nothing of ours could wait: the way itself is
/// walked where everything else is.
#[cfg(feature = "otel")]
#[derive(Debug)]
struct Courier {
    http: reqwest::Client,
    runtime: tokio::runtime::Handle,
}

#[cfg(feature = "otel")]
#[async_trait::async_trait]
impl opentelemetry_http::HttpClient for Courier {
    async fn send_bytes(
        &self,
        request: http::Request<bytes::Bytes>,
    ) -> Result<http::Response<bytes::Bytes>, opentelemetry_http::HttpError> {
        let http = self.http.clone();
        let sent = self.runtime.spawn(async move {
            let response = http.execute(reqwest::Request::try_from(request)?).await?;
            let status = response.status();
            let mut answer = http::Response::new(response.bytes().await?);
            *answer.status_mut() = status;
            Ok::<_, reqwest::Error>(answer)
        });
        Ok(sent.await??)
    }
}
