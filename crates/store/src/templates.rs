//! Templates in the database.

use carrel_model::{
    NodeId, TemplateName,
    public::{Happening, TemplateView},
    template::{Template, TemplatePhase},
};

use crate::{
    Store, StoreError, Tx,
    sql::{Row, args, understood},
};

/// The templates that somebody asked for.
pub struct Templates<'s> {
    pub(crate) store: &'s Store,
}

impl Templates<'_> {
    /// The template of this name.
    pub async fn find(&self, name: &TemplateName) -> Result<Option<Template>, StoreError> {
        let sql = "SELECT * FROM templates WHERE name = $1";
        self.store.sql().fetch_optional(sql, args![name.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// All of them, by name.
    pub async fn list(&self) -> Result<Vec<Template>, StoreError> {
        let sql = "SELECT * FROM templates ORDER BY name";
        self.store.sql().fetch_all(sql, vec![]).await?.iter().map(read).collect()
    }

    /// What a node makes, or made in an earlier life.
    pub async fn unfinished(&self, node: &NodeId) -> Result<Vec<Template>, StoreError> {
        let sql = "SELECT * FROM templates WHERE phase IN ('requested', 'building') AND node = $1";
        self.store.sql().fetch_all(sql, args![node.as_str()]).await?.iter().map(read).collect()
    }
}

impl Tx {
    /// Reads a template and keeps others from changing it until this change is over.
    pub async fn lock_template(&mut self, name: &TemplateName) -> Result<Option<Template>, StoreError> {
        let lock = if self.work.is_postgres() { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT * FROM templates WHERE name = $1{lock}");
        self.work.fetch_optional(sql, args![name.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// Writes a template as it now is, whether or not it was written before, and tells of it.
    pub async fn put_template(&mut self, template: &mut Template) -> Result<(), StoreError> {
        template.revision += 1;
        template.updated_at = self.now();
        let sql = "INSERT INTO templates (name, provider, phase, source, origin, bytes, layers, memory, note, log,
                       created_by, node, created_at, updated_at, ready_at, revision)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
                   ON CONFLICT (name) DO UPDATE SET provider = $2, phase = $3, source = $4, origin = $5, bytes = $6,
                       layers = $7, memory = $8, note = $9, log = $10, created_by = $11, node = $12, created_at = $13,
                       updated_at = $14, ready_at = $15, revision = $16";
        let values = args![
            template.name.as_str(),
            template.provider.as_str(),
            template.phase.word(),
            template.source.to_string(),
            template.origin.as_deref(),
            template.bytes.and_then(|bytes| i64::try_from(bytes).ok()),
            template.layers.map(i64::from),
            i64::from(template.memory),
            template.note.as_deref(),
            template.log.as_str(),
            template.created_by.as_str(),
            template.node.as_str(),
            template.created_at,
            template.updated_at,
            template.ready_at,
            template.revision,
        ];
        self.work.execute(sql, values).await?;
        self.tell(Happening::Template { template: TemplateView::from(&*template) });
        Ok(())
    }

    /// Forgets a template that was locked in this change, and tells of it.
    pub async fn remove_template(&mut self, template: &Template) -> Result<(), StoreError> {
        self.work.execute("DELETE FROM templates WHERE name = $1", args![template.name.as_str()]).await?;
        let last = TemplateView { removed: true, revision: template.revision + 1, ..TemplateView::from(template) };
        self.tell(Happening::Template { template: last });
        Ok(())
    }
}

fn read(row: &Row) -> Result<Template, StoreError> {
    let whole =
        |name: &str| row.maybe_int(name)?.map(|number| understood(name, u64::try_from(number).ok())).transpose();
    let layers = whole("layers")?.map(|count| understood("templates.layers", u32::try_from(count).ok()));
    Ok(Template {
        name: row.name("name")?,
        provider: row.name("provider")?,
        phase: understood("templates.phase", TemplatePhase::from_word(&row.text("phase")?))?,
        source: understood("templates.source", serde_json::from_str(&row.text("source")?).ok())?,
        origin: row.maybe_text("origin")?,
        bytes: whole("bytes")?,
        layers: layers.transpose()?,
        memory: row.int("memory")? != 0,
        note: row.maybe_text("note")?,
        log: row.name("log")?,
        created_by: row.name("created_by")?,
        node: row.name("node")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        ready_at: row.maybe_time("ready_at")?,
        revision: row.int("revision")?,
    })
}
