//! What is answered to a client of the protocol.

use axum::{Router, http::request::Parts};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
        GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
        ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};

use super::{
    Scope,
    desk::{Desk, Trouble},
    prompts, resources, tools,
};
use crate::door::Granted;

const ABOUT: &str = "Carrel gives every coding agent a private desk: an isolated Linux sandbox with a checkout on its own \
                     branch, and carries the work to a merged pull request. Tools are named after what they are about: \
                     sandbox_, files_, git_, task_, pull_. A refusal says what to do next.";

/// Answers in the name of whoever asks.
#[derive(Clone)]
pub(super) struct Server {
    doors: Router,
}

impl Server {
    pub(super) fn new(doors: Router) -> Server {
        Server { doors }
    }

    /// The desk of a request. Each request shows its grant anew.
    fn desk(&self, context: &RequestContext<RoleServer>) -> Result<Desk, ErrorData> {
        let seen = context.extensions.get::<Parts>().map(|parts| &parts.extensions);
        let granted = seen.and_then(|seen| seen.get::<Granted>()).cloned();
        let granted = granted.ok_or_else(|| ErrorData::invalid_request("nobody is asking", None))?;
        let scope = seen.and_then(|seen| seen.get::<Scope>()).cloned().unwrap_or_default();
        Ok(Desk::new(self.doors.clone(), granted, scope))
    }
}

impl From<Trouble> for ErrorData {
    fn from(Trouble(sentence): Trouble) -> ErrorData {
        ErrorData::invalid_params(sentence, None)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(can)
            .with_server_info(Implementation::new("carrel", env!("CARGO_PKG_VERSION")))
            .with_instructions(ABOUT)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let desk = self.desk(&context)?;
        Ok(ListToolsResult::with_all_items(tools::seen_by(&desk).map(|row| row.listed(&desk)).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let desk = self.desk(&context)?;
        let Some(row) = tools::seen_by(&desk).find(|row| row.name == request.name) else {
            let sentence = format!("There is no tool `{}` at this desk. Look at tools/list.", request.name);
            return Err(ErrorData::invalid_params(sentence, None));
        };
        let progress = tools::Progress {
            token: context.meta.get_progress_token(),
            peer: context.peer.clone(),
            called_off: context.ct.clone(),
        };
        // What went wrong is told to the model, which can do something about it.
        Ok(match row.call(&desk, request.arguments.unwrap_or_default(), &progress).await {
            Ok(value) => {
                let failed = value.get("exit_code").is_some_and(|code| !code.is_null() && *code != 0);
                let mut result = CallToolResult::structured(value);
                result.is_error = Some(failed);
                result.into()
            }
            Err(Trouble(sentence)) => CallToolResult::error(vec![ContentBlock::text(sentence)]).into(),
        })
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list(&self.desk(&context)?).await?))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates(&self.desk(&context)?)))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = resources::read(&self.desk(&context)?, &request.uri).await;
        let read = read.map_err(|Trouble(sentence)| ErrorData::resource_not_found(sentence, None))?;
        Ok(ReadResourceResult::new(vec![read]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::all()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(prompts::get(&request.name, &request.arguments.unwrap_or_default())?.into())
    }
}
