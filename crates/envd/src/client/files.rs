//! Files, in and out.

use http::{Method, header};

use super::{Content, Download, Envd, EnvdError, ask::target, line::Load};

impl Envd {
    /// Reads a file of any size.
    pub async fn download(&self, path: &str, user: Option<&str>) -> Result<Download, EnvdError> {
        self.fetch(&target("/files", path, user)).await
    }

    /// Writes a file of any size; parents are made.
    pub async fn upload(&self, path: &str, user: Option<&str>, content: Content) -> Result<(), EnvdError> {
        let builder = self.request(Method::POST, &target("/files", path, user));
        let builder = builder.header(header::CONTENT_TYPE, "application/octet-stream");
        self.ask(builder, Load::Stream(content)).await?.whole().await.map(drop)
    }

    pub(super) async fn fetch(&self, target: &str) -> Result<Download, EnvdError> {
        let answer = self.ask(self.request(Method::GET, target), Load::Whole(None)).await?;
        let length = answer.head.headers.get(header::CONTENT_LENGTH);
        let size = length.and_then(|length| length.to_str().ok()?.parse().ok());
        Ok(Download { size, content: answer.into_content() })
    }
}
