//! A push arrives: judged, read, looked at, let in, and made safe on disk, in this order.

use carrel_model::push::{Motion, PushLimits, Pusher, RefCommand, Refusal, judge};
use tokio::io::AsyncRead;

use super::{
    content::{self, ContentRules, Finding},
    quarantine::{Arrived, Quarantine, drain},
    report::Report,
    request::Request,
};
use crate::{GitError, Mirror, refs::Move};

/// What came of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// What the client is answered.
    pub answer: Vec<u8>,
    /// What moved; nothing when the client only tried the door or everything was refused.
    pub accepted: Accepted,
    /// What was asked for.
    pub asked: Vec<RefCommand>,
    /// Why it was refused, in the words that the client reads.
    pub refusal: Option<String>,
}

/// The refs that moved.
pub type Accepted = Vec<Move>;

impl Mirror {
    /// Receives a push (`POST …/git-receive-pack`). Whatever the client does wrong becomes an answer; an error is ours.
    /// What is accepted is safe on disk when this returns.
    pub async fn receive(
        &self,
        stream: &mut (impl AsyncRead + Unpin),
        pusher: &Pusher,
        limits: &PushLimits,
        rules: &ContentRules,
    ) -> Result<Received, GitError> {
        let Some(request) = Request::read(stream).await? else {
            drain(stream).await;
            return Ok(Received { answer: Vec::new(), accepted: vec![], asked: vec![], refusal: None });
        };
        let refuse = |report: Report| {
            let refusal = Some(report.words.join(" ")).filter(|words| !words.is_empty());
            let first = report.refs.iter().find_map(|(_, why)| why.clone());
            Received {
                answer: report.write(request.wants),
                accepted: Vec::new(),
                asked: request.commands.clone(),
                refusal: refusal.or(first),
            }
        };
        if !request.odd.is_empty() {
            drain(stream).await;
            let words = vec!["A ref is a full name such as `refs/heads/main`.".into()];
            return Ok(refuse(Report::refused(&request, "not a name of a ref", words)));
        }
        let motions = match judge(&request.commands, pusher, limits) {
            Ok(motions) => motions,
            Err(refusals) => {
                drain(stream).await;
                return Ok(refuse(of_refusals(&request, refusals)));
            }
        };
        let quarantine = Quarantine::open(self)?;
        let arrived = match request.has_pack() {
            true => quarantine.take_in(stream, limits).await,
            false => Ok(Arrived::Nothing),
        };
        match arrived {
            Ok(Arrived::Refused { short, why }) => {
                let report = Report::refused(&request, short, vec![why]);
                return Ok(refuse(Report { unpack: Some(short.to_owned()), ..report }));
            }
            Err(GitError::Unfit { why }) => return Ok(refuse(Report::refused(&request, "not a push", vec![why]))),
            arrived => arrived?,
        };
        let tips: Vec<_> = request.commands.iter().filter_map(|command| command.new.clone()).collect();
        // Nothing is lost: work in progress is saved with whatever is in it. It goes nowhere from here, and whatever of it
        // is pushed to a branch later is looked through then.
        let only_wip = request.commands.iter().all(|command| command.name.is_below("refs/carrel/wip"));
        let rules = Some(rules).filter(|_| !only_wip);
        let tags = request.commands.iter().filter(|command| command.name.is_below("refs/tags"));
        let tagged: Vec<_> = tags.filter_map(|command| command.new.clone()).collect();
        let findings = content::inspect(&quarantine, &tips, &tagged, limits, rules).await?;
        if let Some(first) = findings.first() {
            return Ok(refuse(Report::refused(&request, first.short, words_of(&findings))));
        }
        if let Some(name) = self.goes_back(&quarantine, &request.commands, &motions).await? {
            let words = vec![format!("{name} only moves forward here: fetch it, and merge or rebase onto it first.")];
            return Ok(refuse(Report::refused(&request, "not a fast-forward", words)));
        }
        quarantine.release()?;
        let (report, accepted) = self.move_all(&request).await?;
        let refusal = report.refs.iter().find_map(|(_, why)| why.clone());
        Ok(Received { answer: report.write(request.wants), accepted, asked: request.commands, refusal })
    }

    /// A ref that would not move forward although it must.
    async fn goes_back(
        &self,
        quarantine: &Quarantine,
        commands: &[RefCommand],
        motions: &[Motion],
    ) -> Result<Option<String>, GitError> {
        for (command, motion) in commands.iter().zip(motions) {
            if let (Motion::Forward, Some(old), Some(new)) = (motion, &command.old, &command.new) {
                let call = quarantine.call("merge-base").arg("--is-ancestor").arg(old).arg(new);
                if !call.answer().await?.status.success() {
                    return Ok(Some(command.name.to_string()));
                }
            }
        }
        Ok(None)
    }

    /// Moves the refs: all or none when the client wants that, else each by itself.
    async fn move_all(&self, request: &Request) -> Result<(Report, Accepted), GitError> {
        let as_move = |command: &RefCommand| Move {
            name: command.name.clone(),
            from: command.old.clone(),
            to: command.new.clone(),
        };
        let moves: Vec<Move> = request.commands.iter().map(as_move).collect();
        let groups: Vec<&[Move]> = if request.wants.atomic { vec![&moves] } else { moves.chunks(1).collect() };
        let mut report = Report { refs: Vec::new(), unpack: None, words: Vec::new() };
        let mut accepted = Vec::new();
        for group in groups {
            let why = match self.move_refs(group).await {
                Ok(()) => None,
                Err(GitError::Moved { name }) => {
                    report.words.push(format!("{name} was moved by somebody else meanwhile: fetch and try again."));
                    Some("moved meanwhile".to_owned())
                }
                Err(GitError::Failed { why, .. }) => {
                    report.words.push(why);
                    Some("the ref could not be moved".to_owned())
                }
                Err(error) => return Err(error),
            };
            if why.is_none() {
                accepted.extend_from_slice(group);
            }
            report.refs.extend(group.iter().map(|step| (step.name.to_string(), why.clone())));
        }
        Ok((report, accepted))
    }
}

/// Every command is answered: the bad ones with their reason, the others with theirs.
fn of_refusals(request: &Request, refusals: Vec<Refusal>) -> Report {
    let mut report = Report::refused(request, "refused together with the others", Vec::new());
    for refusal in refusals {
        for (name, why) in &mut report.refs {
            if *name == refusal.name.as_str() {
                *why = Some(refusal.short.to_owned());
            }
        }
        for line in refusal.words {
            if !report.words.contains(&line) {
                report.words.push(line);
            }
        }
    }
    report
}

fn words_of(findings: &[Finding]) -> Vec<String> {
    let mut words: Vec<String> = findings.iter().map(|finding| finding.sentence.clone()).collect();
    if findings.iter().any(|finding| finding.short == "it holds a secret") {
        words.push(
            "Take it out of the commits (git rebase -i), and replace it if it is real: it was written down.".into(),
        );
        words.push("A line that only looks like a secret may say so with `carrel:allow`.".into());
    }
    words
}
