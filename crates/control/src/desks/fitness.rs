//! Whether a repository can be worked with: its forge is asked before the first pull depends on the answer.

use carrel_forge::ForgeError;
use carrel_model::{Action, Grant, RepoName, Subject, public::RepoFitness};

use super::repos::find;
use crate::{
    Error, ReposDesk,
    forges::{Place, forge_of},
};

impl ReposDesk<'_> {
    /// Asks the forge of a repository who we are there and what our credential lacks. Changes nothing.
    ///
    /// A forge that refuses us is an answer, not an error: what it said is what is missing.
    pub async fn test(&self, grant: &Grant, name: &RepoName) -> Result<RepoFitness, Error> {
        self.house.admit(grant, Action::RepoRead, Subject::Repo(name)).await?;
        let repo = find(self.house, name).await?;
        let forge = match Place::of(self.house, &repo).await? {
            Place::Embedded => "embedded",
            Place::GitHub { .. } => "github",
            Place::Gitea { .. } => "gitea",
        };
        let absent = |why: String| RepoFitness {
            forge: forge.to_owned(),
            reached: false,
            login: None,
            default_branch: None,
            missing: vec![why],
        };
        let at = match forge_of(self.house, &repo).await {
            Ok(at) => at,
            Err(Error::Conflict { why }) => return Ok(absent(why)),
            Err(error) => return Err(error),
        };
        match at.probe().await {
            Ok(fitness) => Ok(RepoFitness {
                forge: forge.to_owned(),
                reached: true,
                login: Some(fitness.login),
                default_branch: Some(fitness.default_branch.to_string()),
                missing: fitness.missing,
            }),
            Err(ForgeError::Denied { why, missing }) if missing.is_empty() => Ok(absent(why)),
            Err(ForgeError::Denied { why, missing }) => {
                let missing = missing.iter().map(|it| format!("The credential lacks `{it}`.")).collect();
                Ok(RepoFitness { missing, ..absent(why) })
            }
            Err(ForgeError::NotFound { what }) => Ok(absent(format!(
                "The forge shows us no {what}: is the address right, and may the credential see it?"
            ))),
            Err(ForgeError::Unavailable { why }) => Ok(absent(format!("The forge does not answer: {why}."))),
            Err(error) => Err(error.into()),
        }
    }
}
