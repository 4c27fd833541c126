"""What Schemathesis has to know of this house: what is in it, what must not be touched, and what a status may be.

`run` fills a house and says in CARREL_API_THINGS what is in it. Without that nearly every path would end at 404, and a
check that never meets a thing checks little.
"""

import json
import os
import pathlib
import random
import re

import schemathesis

THINGS = json.loads(os.environ["CARREL_API_THINGS"])
GUIDE = pathlib.Path(os.environ["CARREL_API_GUIDE"])
TOLD = {int(status) for status in re.findall(r"^\| (\d{3}) \| `/problems/", GUIDE.read_text(), re.M)}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Leads a request to what is there, keeps it on the provider that only remembers, and lets it end.

    Parts that were made wrong on purpose are left as they are.
    """
    wrong = {place.value for place, part in case.meta.components.items() if part.mode.is_negative} if case.meta else set()
    if "path" not in wrong and case.path_parameters:
        room = case.operation.path.removeprefix("/api/v1/").split("/")[0]
        # Two of three times; the others look for what is nowhere.
        if random.Random(repr(sorted(case.path_parameters.items(), key=repr))).random() < 0.66:
            case.path_parameters.update(
                {name: there for name, there in THINGS.get(room, {}).items() if name in case.path_parameters}
            )
    if "query" not in wrong and case.query:
        # A wait may last ten minutes. A stream has no end, and OpenAPI 3.1 has no words for its events.
        case.query.pop("wait", None)
        case.query.pop("follow", None)
    if "body" not in wrong and isinstance(case.body, dict) and "provider" in case.body:
        case.body["provider"] = "fake"


@schemathesis.serializer("application/x-tar")
def as_tar(context, value):
    """An archive is bytes; what is no archive must be refused."""
    return value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else json.dumps(value).encode()


@schemathesis.check
def told_status(ctx, response, case):
    """`default` in the description allows every status: the guide names those that there are."""
    described = case.operation.definition.raw.get("responses", {})
    if str(response.status_code) not in described and response.status_code not in TOLD:
        raise AssertionError(f"{response.status_code} is neither in the description nor in docs/guides/api.md")


@schemathesis.check
def asks_for_a_key(ctx, response, case):
    """Whoever shows no key gets nothing, but at the doors that are open."""
    is_open = case.operation.definition.raw.get("security") == [{}]
    if os.environ["CARREL_API_ROLE"] == "none" and not is_open and response.status_code not in (401, 405, 429):
        raise AssertionError(f"{response.status_code} was answered to nobody")


@schemathesis.check
def no_secret(ctx, response, case):
    """Whoever asks, no key that another holds is in an answer."""
    shown = response.content
    for secret in THINGS.get("secrets_of_others", []):
        if secret.encode() in shown:
            raise AssertionError("the answer holds a secret of somebody else")
