//! What is answered to a client of the protocol.

use axum::{Router, http::request::Parts};
use carrel_control::{About, Control, ToolPermits};
use carrel_model::TaskId;
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
    control: Control,
}

impl Server {
    pub(super) fn new(doors: Router, control: Control) -> Server {
        Server { doors, control }
    }

    /// What whoever asks may use of what a call is about. A name that cannot be one names nothing.
    async fn permits(&self, desk: &Desk, args: &tools::Args) -> Result<ToolPermits, ErrorData> {
        let text = |name: &str| args.get(name).and_then(|value| value.as_str());
        let sandbox = desk.scope.sandbox.clone().or_else(|| text("sandbox_id")?.parse().ok());
        let task = desk.scope.task.or_else(|| TaskId::try_from(tools::text(args.get("task_id")?)).ok());
        let named = || text("repo").and_then(|name| name.trim_end_matches(".git").parse().ok());
        let repo = desk.scope.repo.clone().or_else(named);
        let about = About { sandbox: sandbox.as_ref(), task, repo: repo.as_ref() };
        let permits = self.control.tools().permits(desk.grant(), about).await;
        permits.map_err(|error| ErrorData::internal_error(error.to_string(), None))
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
        let permits = self.permits(&desk, &tools::Args::new()).await?;
        let rows = tools::seen_by(&desk).filter(|row| permits.check(row.name).is_ok());
        Ok(ListToolsResult::with_all_items(rows.map(|row| row.listed(&desk)).collect()))
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
        let args = request.arguments.unwrap_or_default();
        if let Err(why) = self.permits(&desk, &args).await?.check(row.name) {
            if let Err(error) = self.control.tools().refused(desk.grant(), row.name, &why).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "a refusal was not written down");
            }
            let sentence = format!("{why}. Go on without it, or ask a person to change that file.");
            return Ok(CallToolResult::error(vec![ContentBlock::text(sentence)]).into());
        }
        let progress = tools::Progress {
            token: context.meta.get_progress_token(),
            peer: context.peer.clone(),
            called_off: context.ct.clone(),
        };
        // What went wrong is told to the model, which can do something about it.
        Ok(match row.call(&desk, args, &progress).await {
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
