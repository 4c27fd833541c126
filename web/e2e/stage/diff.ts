/** A diff for pictures: two sources, a test, and a lock file. */
export const DIFF = `diff --git a/src/login.rs b/src/login.rs
index 3f2a9c1..8b7d0e4 100644
--- a/src/login.rs
+++ b/src/login.rs
@@ -12,14 +12,18 @@ use crate::session::{Session, Store};
 
 /// Signs a person in, and answers the cookie they show from now on.
 pub async fn sign_in(store: &Store, name: &str, password: &str) -> Result<Cookie, Refused> {
     let person = store.find_person(name).await?.ok_or(Refused::Unknown)?;
     person.check(password)?;
-    let session = Session::new(&person);
-    let cookie = session.cookie();
-    tokio::spawn(async move { session.write().await });
-    Ok(cookie)
+    let session = Session::new(&person);
+    // The cookie is good only once the session can be found: whoever shows it next may be quick.
+    store.write(&session).await?;
+    Ok(session.cookie())
 }
 
+/// How long a session lives when nobody says otherwise.
+pub const LIFETIME: Duration = Duration::from_secs(60 * 60 * 12);
+
 /// Signs a person out everywhere.
 pub async fn sign_out(store: &Store, person: PersonId) -> Result<(), Refused> {
     store.forget(person).await
 }
diff --git a/src/session.rs b/src/session.rs
index 11aa2bc..77d01fe 100644
--- a/src/session.rs
+++ b/src/session.rs
@@ -40,6 +40,12 @@ impl Session {
     pub fn cookie(&self) -> Cookie {
         Cookie::new(COOKIE, self.id.to_string())
     }
 
+    /// Writes the session without waiting for it.
+    #[deprecated = "use Store::write and wait for it"]
+    pub fn open(self, store: Store) {
+        tokio::spawn(async move { store.write(&self).await });
+    }
+
     /// Whether it is still good at this time.
     pub fn is_good(&self, now: Timestamp) -> bool {
         now < self.expires
diff --git a/tests/login.rs b/tests/login.rs
new file mode 100644
index 0000000..c0ffee1
--- /dev/null
+++ b/tests/login.rs
@@ -0,0 +1,12 @@
+//! Signing in, from outside.
+
+mod house;
+
+#[tokio::test]
+async fn a_cookie_is_good_as_soon_as_it_is_given() {
+    let house = house::slow_store().await;
+    let cookie = house.sign_in("ada", "difference").await;
+    let answer = house.get("/me").with(cookie).await;
+    assert_eq!(answer.status(), 200);
+}
+
diff --git a/Cargo.lock b/Cargo.lock
index 5a5a5a5..6b6b6b6 100644
--- a/Cargo.lock
+++ b/Cargo.lock
@@ -1204,7 +1204,7 @@ dependencies = [
 
 [[package]]
 name = "tokio"
-version = "1.47.0"
+version = "1.47.1"
 source = "registry"
 dependencies = [
  "bytes",
`
