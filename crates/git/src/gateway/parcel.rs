//! Work that comes in a parcel from another house: judged like a push, but no ref moves by itself.

use carrel_model::{CommitId, push::PushLimits};
use tokio::io::AsyncRead;

use super::{
    content,
    quarantine::{Arrived, Quarantine},
};
use crate::{GitError, Mirror, gateway::ContentRules};

impl Mirror {
    /// Takes in a pack. What may be published (`tips`) is looked through like a push; everything in `commits` must be
    /// whole. The objects are safe on disk when this returns; names for them are the caller's to give.
    pub async fn take_parcel(
        &self,
        stream: &mut (impl AsyncRead + Unpin),
        tips: &[CommitId],
        commits: &[CommitId],
        limits: &PushLimits,
        rules: &ContentRules,
    ) -> Result<(), GitError> {
        let quarantine = Quarantine::open(self)?;
        if let Arrived::Refused { why, .. } = quarantine.take_in(stream, limits).await? {
            return Err(GitError::unfit(why));
        }
        for (looked_at, rules) in [(commits, None), (tips, Some(rules))] {
            let findings = content::inspect(&quarantine, looked_at, &[], limits, rules).await?;
            if !findings.is_empty() {
                let words: Vec<String> = findings.into_iter().map(|finding| finding.sentence).collect();
                return Err(GitError::unfit(words.join(" ")));
            }
        }
        quarantine.release()
    }
}
