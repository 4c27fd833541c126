//! Recipes, built on the `host` template.

use std::{
    collections::HashSet,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    sync::atomic::Ordering,
};

use carrel_sandbox::template::{
    Progress, Template, TemplateError, make_host,
    recipe::{Caching, Order, build, parse},
};

use crate::{Heard, House, bench::Chroots, exists, needs_root};

struct Kitchen {
    house: House,
    bench: Chroots,
}

impl Kitchen {
    async fn open() -> Self {
        needs_root();
        let house = House::open();
        let host = make_host(&house.shelves, &Progress::silent()).await.unwrap();
        house.shelves.keep(&host).unwrap();
        fs::create_dir(house.path("context")).unwrap();
        let bench =
            Chroots { shelves: house.shelves.clone(), folder: house.path("benches"), opened: Default::default() };
        Kitchen { house, bench }
    }

    fn put(&self, name: &str, content: &str) {
        let path = self.house.path("context").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    async fn cook(&self, recipe: &str, heard: &Heard) -> Result<Template, TemplateError> {
        self.cook_with(recipe, Caching::Use, heard).await
    }

    async fn cook_with(&self, recipe: &str, caching: Caching, heard: &Heard) -> Result<Template, TemplateError> {
        let order = Order {
            name: "dish".parse().unwrap(),
            recipe: parse(recipe)?,
            context: Some(self.house.path("context")),
            login: None,
            caching,
            shell: Default::default(),
        };
        let template = Box::pin(build(&self.house.shelves, &order, &self.bench, &heard.progress())).await;
        assert_eq!(self.house.drafts(), 0);
        template
    }

    fn steps_done(&self) -> usize {
        self.bench.opened.load(Ordering::SeqCst)
    }

    /// What the sandboxes of a template see.
    fn seen(&self, template: &Template, script: &str) -> String {
        self.house.seen_through_overlay(&template.layers, script)
    }
}

#[tokio::test]
async fn a_recipe_is_cooked_step_by_step() {
    let kitchen = Kitchen::open().await;
    kitchen.put("app/main.sh", "echo hello");
    kitchen.put("app/lib/deep.txt", "deep");
    kitchen.put("one.txt", "1");
    let heard = Heard::default();
    let template = kitchen
        .cook(
            "FROM host\n\
             ENV PLACE=/opt/app WHO='the cook'\n\
             RUN echo \"$WHO was here\" > /home/user/note && id -un >> /home/user/note && pwd >> /home/user/note\n\
             USER root\n\
             WORKDIR $PLACE\n\
             COPY --chmod=700 app .\n\
             COPY --chown=user one.txt /home/user/renamed.txt\n\
             COPY *.txt /srv/texts/\n\
             RUN echo root >> lib/deep.txt; rm /etc/mime.types || true\n\
             USER user\n\
             START sh main.sh\n\
             READY [ -f /opt/app/main.sh ]\n",
            &heard,
        )
        .await
        .unwrap();
    kitchen.house.shelves.keep(&template).unwrap();
    let note = kitchen.seen(&template, "cat home/user/note opt/app/main.sh opt/app/lib/deep.txt; ls srv/texts");
    assert_eq!(note, "the cook was here\nuser\n/home/user\necho hellodeeproot\none.txt\n");
    let owners = kitchen.seen(
        &template,
        "stat -c '%n %a %u' home/user/note home/user/renamed.txt opt/app/main.sh opt/app/lib srv/texts/one.txt",
    );
    assert_eq!(
        owners,
        "home/user/note 644 1000\nhome/user/renamed.txt 644 1000\nopt/app/main.sh 700 0\nopt/app/lib 700 0\nsrv/texts/one.txt 644 0\n"
    );
    assert_eq!(template.config.user.as_deref(), Some("user"));
    assert_eq!(template.config.workdir.as_deref(), Some("/opt/app"));
    assert_eq!(template.config.start_command.as_deref(), Some("sh main.sh"));
    assert_eq!(template.config.ready_command.as_deref(), Some("[ -f /opt/app/main.sh ]"));
    assert_eq!(template.config.env["WHO"], "the cook");
    assert!(template.config.env["PATH"].contains("/usr/bin"), "the environment of the base stays");
    assert!(heard.has("step 4/11 WORKDIR ${PLACE}"), "{:?}", heard.all());
    for layer in &template.layers {
        assert!(kitchen.house.shelves.verify(layer).unwrap());
    }
}

#[tokio::test]
async fn only_what_changed_is_cooked_again() {
    let kitchen = Kitchen::open().await;
    kitchen.put("a.txt", "1");
    let recipe = "FROM host\nUSER root\nRUN echo first > /first\nCOPY a.txt /a.txt\nRUN cat /a.txt > /last\n";
    let first = kitchen.cook(recipe, &Heard::default()).await.unwrap();
    assert_eq!(kitchen.steps_done(), 3);
    let heard = Heard::default();
    let again = kitchen.cook(recipe, &heard).await.unwrap();
    assert_eq!(again.layers, first.layers);
    assert_eq!((again.bytes, kitchen.steps_done()), (first.bytes, 3));
    assert!(heard.has("step 2/4 RUN echo first > /first (cached)"), "{:?}", heard.all());
    assert!(heard.has("step 3/4 COPY a.txt /a.txt (cached)"), "{:?}", heard.all());

    // A touched file is the same file; a changed one is not, and neither is what comes after it.
    let file = fs::File::options().write(true).open(kitchen.house.path("context/a.txt")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    kitchen.cook(recipe, &Heard::default()).await.unwrap();
    assert_eq!(kitchen.steps_done(), 3);
    kitchen.put("a.txt", "2");
    let heard = Heard::default();
    let changed = kitchen.cook(recipe, &heard).await.unwrap();
    assert_eq!(kitchen.steps_done(), 5);
    assert!(heard.has("RUN echo first > /first (cached)") && !heard.has("COPY a.txt /a.txt (cached)"));
    assert_eq!(changed.layers[..2], first.layers[..2]);
    assert_eq!(kitchen.seen(&changed, "cat last"), "2");

    for other in [
        recipe.replace("echo first", "echo  first"),
        recipe.replace("USER root\n", "USER root\nENV X=1\n"),
        recipe.replace("USER root\n", "USER root\nWORKDIR /tmp\n"),
    ] {
        let before = kitchen.steps_done();
        kitchen.cook(&other, &Heard::default()).await.unwrap();
        assert!(kitchen.steps_done() > before, "{other}");
    }
    let before = kitchen.steps_done();
    kitchen.cook_with(recipe, Caching::Ignore, &Heard::default()).await.unwrap();
    assert_eq!(kitchen.steps_done(), before + 3);
}

#[tokio::test]
async fn a_step_that_fails_is_named_and_the_steps_before_it_are_not_lost() {
    let kitchen = Kitchen::open().await;
    let heard = Heard::default();
    let error = kitchen
        .cook("FROM host\nUSER root\nRUN echo good > /good\n\nRUN echo so it goes; exit 7\nRUN echo never\n", &heard)
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "step 3 (line 5): `echo so it goes; exit 7` ended with exit code 7");
    assert!(heard.has("so it goes") && !heard.has("never"), "{:?}", heard.all());
    // Nothing collects them while we live: the next attempt goes on from there.
    kitchen.house.shelves.collect(&HashSet::new()).unwrap();
    let heard = Heard::default();
    kitchen.cook("FROM host\nUSER root\nRUN echo good > /good\nRUN true\n", &heard).await.unwrap();
    assert!(heard.has("RUN echo good > /good (cached)"), "{:?}", heard.all());
}

#[tokio::test]
async fn a_step_that_was_collected_is_done_again() {
    let kitchen = Kitchen::open().await;
    let recipe = "FROM host\nUSER root\nRUN echo x > /x\n";
    let template = kitchen.cook(recipe, &Heard::default()).await.unwrap();
    kitchen.house.shelves.keep(&template).unwrap();
    kitchen.house.shelves.forget(&template.name).unwrap();
    let gone = kitchen.house.shelves.collect(&HashSet::new()).unwrap();
    assert_eq!(gone, template.layers[1..]);
    let heard = Heard::default();
    let again = kitchen.cook(recipe, &heard).await.unwrap();
    assert_eq!(again.layers, template.layers);
    assert!(!heard.has("(cached)"), "{:?}", heard.all());
}

#[tokio::test]
async fn nothing_is_copied_from_outside_the_context() {
    let kitchen = Kitchen::open().await;
    let secret = kitchen.house.path("secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("key"), "SECRET").unwrap();
    kitchen.put("inner/file", "x");
    let context = kitchen.house.path("context");
    symlink(&secret, context.join("out")).unwrap();
    symlink("../secret/key", context.join("sly")).unwrap();
    symlink("inner", context.join("in")).unwrap();
    symlink(secret.join("key"), context.join("inner/link")).unwrap();
    for (source, why) in [
        ("../secret/key", "line 3: `../secret/key` leads out of the context"),
        ("inner/../../secret", "line 3: `inner/../../secret` leads out of the context"),
        ("out/key", "line 3: `out` leads out of the context"),
        ("out/*", "line 3: `out` leads out of the context"),
        ("sly", "line 3: `sly` leads out of the context"),
        ("/etc/hostname", "line 3: the context has no `/etc/hostname`"),
        ("nowhere", "line 3: the context has no `nowhere`"),
    ] {
        let error =
            kitchen.cook(&format!("FROM host\nUSER root\nCOPY {source} /x/\n"), &Heard::default()).await.unwrap_err();
        assert_eq!(error.to_string(), why);
    }
    assert_eq!(kitchen.steps_done(), 0);
    // Links that stay inside are followed; those in a folder are copied as the links that they are.
    let template = kitchen.cook("FROM host\nUSER root\nCOPY in /x\n", &Heard::default()).await.unwrap();
    let layer = template.layers.last().unwrap();
    assert_eq!(fs::read_to_string(kitchen.house.at(layer, "x/file")).unwrap(), "x");
    assert_eq!(fs::read_link(kitchen.house.at(layer, "x/link")).unwrap(), secret.join("key"));
}

#[tokio::test]
async fn what_the_ignore_file_names_stays_out() {
    let kitchen = Kitchen::open().await;
    kitchen.put(".carrelignore", "*.log\nbuild\n!build/keep\n**/.env\n");
    kitchen.put(".dockerignore", "*\n");
    for name in ["a.txt", "b.log", "build/out", "build/keep", "src/.env", "src/main"] {
        kitchen.put(name, "x");
    }
    fs::set_permissions(kitchen.house.path("context/a.txt"), fs::Permissions::from_mode(0o751)).unwrap();
    let template = kitchen.cook("FROM host\nUSER root\nCOPY . /all/\n", &Heard::default()).await.unwrap();
    let files = kitchen.seen(&template, "cd all && find . -type f | sort | tr '\\n' ' '");
    assert_eq!(files, "./.carrelignore ./.dockerignore ./a.txt ./build/keep ./src/main ");
    let layer = template.layers.last().unwrap();
    assert_eq!(fs::metadata(kitchen.house.at(layer, "all/a.txt")).unwrap().mode() & 0o777, 0o751);
    let error = kitchen.cook("FROM host\nUSER root\nCOPY b.log /\n", &Heard::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "line 3: the context has no `b.log`");
}

#[tokio::test]
async fn a_recipe_on_a_recipe_shares_its_layers() {
    let kitchen = Kitchen::open().await;
    let mut base =
        kitchen.cook("FROM host\nUSER root\nENV A=1\nRUN echo base > /base\n", &Heard::default()).await.unwrap();
    base.name = "team/base:v1".parse().unwrap();
    kitchen.house.shelves.keep(&base).unwrap();
    let top = kitchen.cook("FROM team/base:v1\nRUN echo $A > /top\nRUN true\n", &Heard::default()).await.unwrap();
    assert_eq!(top.layers[..2], base.layers[..]);
    assert_eq!(top.layers.len(), 3, "a step that wrote nothing is no layer");
    assert_eq!(kitchen.seen(&top, "cat base top"), "base\n1\n");
    assert_eq!(top.config.user.as_deref(), Some("root"));
    // A base whose layers are gone is told, not built on.
    fs::remove_dir_all(kitchen.house.shelves.layer(&base.layers[1])).unwrap();
    let error = kitchen.cook("FROM team/base:v1\nRUN true\n", &Heard::default()).await.unwrap_err();
    assert!(error.to_string().contains("make it again"), "{error}");
    assert!(!exists(&kitchen.house.path("context/anything")));
}

#[tokio::test]
async fn a_recipe_that_is_called_off_ends_at_its_step_and_keeps_those_before_it() {
    let kitchen = Kitchen::open().await;
    let recipe = "FROM host\nUSER root\nRUN echo one > /one\nRUN echo two > /two\nRUN echo three > /three\n";
    let order = Order {
        name: "dish".parse().unwrap(),
        recipe: parse(recipe).unwrap(),
        context: None,
        login: None,
        caching: Caching::Use,
        shell: Default::default(),
    };
    let progress = Heard::default().progress_until("step 3/4");
    let error = Box::pin(build(&kitchen.house.shelves, &order, &kitchen.bench, &progress)).await.unwrap_err();
    assert!(error.to_string().contains("called off"), "{error}");
    assert_eq!(kitchen.house.drafts(), 0);
    let heard = Heard::default();
    kitchen.cook(recipe, &heard).await.unwrap();
    assert!(
        heard.has("step 2/4 RUN echo one > /one (cached)") && !heard.has("two > /two (cached)"),
        "{:?}",
        heard.all()
    );
}
