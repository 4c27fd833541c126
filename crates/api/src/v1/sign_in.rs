//! Signing browsers in and out. The code of a link travels in the fragment of its address and in a body, never in a URL
//! that a server sees.

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use axum_extra::extract::cookie::{Cookie, SameSite};
use carrel_model::{
    key::KeySecret,
    public::{Bearer, Problem as ProblemBody, SignIn, SignedIn},
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Created, Json, Origin, Problem, Waited, cookie_value, is_own_page},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(sign_in)).routes(routes!(sign_out)).routes(routes!(link)).routes(routes!(me))
}

/// A link that signs one browser in, once.
#[derive(Serialize, ToSchema)]
pub(super) struct SignInLink {
    /// The path of the link, with its code in the fragment; put the server's address before it.
    path: String,
    /// When it is void.
    #[schema(value_type = String, format = DateTime)]
    expires_at: jiff::Timestamp,
}

impl From<carrel_control::Link> for SignInLink {
    fn from(link: carrel_control::Link) -> Self {
        SignInLink { path: format!("/app/sign-in#code={}", link.code), expires_at: link.expires_at }
    }
}

/// Signs a browser in.
#[utoipa::path(post, path = "/sign-in", operation_id = "sign_in", tag = "sign-in", request_body = SignIn, security(()),
    responses((status = 200, description = "Signed in; the cookie says so.", body = SignedIn),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn sign_in(State(doors): State<Doors>, origin: Origin, Json(asked): Json<SignIn>) -> Result<Response, Problem> {
    let keys = doors.control.keys();
    let (visit, why) = match asked {
        SignIn::Code(code) => {
            (keys.redeem(&code, origin.text()).await?, "this sign-in link was used before or is too old")
        }
        SignIn::Key(text) => {
            let visit = match KeySecret::parse(text.trim()) {
                Ok(secret) => keys.sign_in(&secret, origin.text()).await?,
                Err(_) => None,
            };
            (visit, "this key is unknown, revoked or expired")
        }
    };
    let Some(visit) = visit else {
        doors.limiter.admit_stranger(origin.0)?;
        doors.control.audit().turned_away("sign_in", origin.text(), why).await?;
        return Err(Problem::unauthorized(why).with_hint("`carrel sign-in` prints a new link"));
    };
    let cookie = Cookie::build((doors.options.cookie.clone(), visit.cookie))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Strict)
        .secure(doors.options.secure);
    let cookie = format!("{}; Max-Age={}", cookie.build(), visit.lasts.as_secs());
    let body = axum::Json(SignedIn { bearer: Bearer::from(&visit.grant) });
    Ok((set_cookie(&cookie), body).into_response())
}

/// Signs a browser out.
#[utoipa::path(post, path = "/sign-out", operation_id = "sign_out", tag = "sign-in", security(()),
    responses((status = 204, description = "Signed out.")))]
async fn sign_out(State(doors): State<Doors>, origin: Origin, parts: Parts) -> Result<Response, Problem> {
    if !is_own_page(&parts, &doors) {
        return Err(Problem::new(403, "denied", "Not allowed", "the request came from a page of another site"));
    }
    if let Some(cookie) = cookie_value(&parts.headers, &doors) {
        doors.control.keys().sign_out(&cookie, origin.text()).await?;
    }
    let secure = if doors.options.secure { "; Secure" } else { "" };
    let gone = format!("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0{secure}", doors.options.cookie);
    Ok((StatusCode::NO_CONTENT, set_cookie(&gone)).into_response())
}

/// Makes a link that signs one browser in, once, as the bearer of the key that asks.
#[utoipa::path(post, path = "/sign-in/link", operation_id = "create_sign_in_link", tag = "sign-in",
    responses((status = 201, description = "The link.", body = SignInLink),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn link(State(doors): State<Doors>, Asker(grant): Asker) -> Result<Created<SignInLink>, Problem> {
    let body = doors.control.keys().link(&grant).await?.into();
    Ok(Created { place: "/app/sign-in".into(), body, repeated: false, waited: Waited::NotAsked })
}

/// Says who is asking.
#[utoipa::path(get, path = "/me", operation_id = "get_me", tag = "sign-in",
    responses((status = 200, description = "The bearer of the key.", body = Bearer),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn me(Asker(grant): Asker) -> axum::Json<Bearer> {
    axum::Json(Bearer::from(&grant))
}

fn set_cookie(cookie: &str) -> HeaderMap {
    let value = HeaderValue::from_str(cookie).expect("names and tickets are plain ASCII");
    HeaderMap::from_iter([(header::SET_COOKIE, value)])
}
