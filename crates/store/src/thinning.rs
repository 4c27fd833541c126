//! How much all execs of one sandbox may have printed together: when it is too much, the oldest that are over are
//! forgotten, and their transcripts say so. Without it somebody who prints in a loop would fill the disk of the house.

use bytes::Bytes;
use carrel_model::{ExecId, SandboxId};

use crate::{
    Chunk, StoreError, Stream, Transcripts,
    sql::{args, understood},
    transcripts::insert_chunk,
};

/// A transcript that is no longer than this is not worth forgetting: what is left in its place is as long.
const WORTHLESS: i64 = 1024;

impl Transcripts<'_> {
    /// Forgets the oldest transcripts of a sandbox that are over, until all of them together have at most so many bytes.
    /// Says how many bytes were forgotten.
    pub async fn thin(&self, sandbox: &SandboxId, most: u64) -> Result<u64, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut work = self.store.sql().begin().await?;
        let sql = "SELECT t.exec_id AS exec_id, t.length AS length, t.closed_at AS closed_at
                   FROM transcripts t JOIN execs e ON e.id = t.exec_id
                   WHERE e.sandbox_id = $1 ORDER BY e.started_at DESC, e.id DESC";
        let (mut kept, mut forgotten, mut rung) = (0, 0, Vec::new());
        for row in work.fetch_all(sql, args![sandbox.as_str()]).await? {
            let length = row.int("length")?;
            let is_over = row.maybe_time("closed_at")?.is_some();
            if kept + length <= most || !is_over || length <= WORTHLESS {
                kept += length;
                continue;
            }
            let text = row.text("exec_id")?;
            let exec: ExecId = understood("transcripts.exec_id", text.parse().ok())?;
            let marker = Bytes::from(format!(
                "[carrel: {length} bytes were printed here and are not kept any more: the execs of this sandbox printed \
                 more than {most} bytes in all]\n"
            ));
            work.execute("DELETE FROM transcript_chunks WHERE exec_id = $1", args![exec.as_str()]).await?;
            let sql = "UPDATE transcripts SET length = $2, room = 0, dropped = dropped + $3 WHERE exec_id = $1";
            work.execute(sql, args![exec.as_str(), marker.len() as i64, length]).await?;
            kept += marker.len() as i64;
            insert_chunk(&mut work, &exec, &Chunk { offset: 0, stream: Stream::Carrel, bytes: marker }).await?;
            self.store.sql().ring(&mut work, exec.as_str()).await?;
            rung.push(exec);
            forgotten += length;
        }
        work.commit().await?;
        rung.iter().for_each(|exec| self.store.inner.chimes.ring(exec.as_str()));
        Ok(forgotten.unsigned_abs())
    }
}
