"""What the door answers that no method of the newest SDK asks: the older paths, and what dashboards and scripts call."""

import datetime
import json
import time

from test_differs import ask


def asked(method, path, key, body=None, status=200):
    got, said = ask(method, path, key, body)
    assert got == status, (method, path, got, said)
    return json.loads(said) if said else None


def test_the_first_generation_of_paths_makes_lists_and_wakes(key):
    mark = f"routes-{time.time_ns()}"
    new = {"templateID": "base", "timeout": 120, "secure": True, "metadata": {"mark": mark}}
    made = asked("POST", "/sandboxes", key, new, 201)
    for field in ("templateID", "sandboxID", "clientID", "envdVersion", "envdAccessToken"):
        assert made[field], field
    place = f"/sandboxes/{made['sandboxID']}"
    try:
        assert [it["sandboxID"] for it in asked("GET", f"/sandboxes?metadata=mark%3D{mark}", key)] == [made["sandboxID"]]
        assert asked("POST", f"{place}/connect", key, {"timeout": 60})["sandboxID"] == made["sandboxID"]
        assert asked("POST", f"{place}/resume", key, {"timeout": 60}, 409)["code"] == 409, "it is not paused"
        asked("POST", f"{place}/pause", key, {}, 204)
        assert asked("GET", f"/sandboxes?metadata=mark%3D{mark}", key) == [], "this list is of those that run"
        assert asked("GET", f"/v2/sandboxes?metadata=mark%3D{mark}&state=paused", key)[0]["state"] == "paused"
        assert asked("POST", f"{place}/resume", key, {"timeout": 60}, 201)["sandboxID"] == made["sandboxID"]
    finally:
        asked("DELETE", place, key, status=204)
    assert asked("DELETE", place, key, status=404)["code"] == 404


def test_a_refresh_prolongs_a_life(sandbox, key):
    place = f"/sandboxes/{sandbox.sandbox_id}"
    before = sandbox.get_info().end_at
    asked("POST", f"{place}/refreshes", key, {"duration": 3600}, 204)
    assert sandbox.get_info().end_at > before + datetime.timedelta(minutes=40)
    assert asked("POST", f"{place}/refreshes", key, {"duration": 3601}, 400)["code"] == 400
    assert asked("POST", "/sandboxes/i0000000000000000000/refreshes", key, {"duration": 1}, 404)["code"] == 404


def test_metrics_of_many_and_of_one_that_ended(make, sandbox, key):
    other = make()
    ids = f"{sandbox.sandbox_id},{other.sandbox_id},i0000000000000000000,nonsense"
    many = asked("GET", f"/sandboxes/metrics?sandbox_ids={ids}", key)["sandboxes"]
    assert set(many) == {sandbox.sandbox_id, other.sandbox_id}
    for metric in many.values():
        assert metric["memTotal"] > metric["memUsed"] > 0 and metric["cpuCount"] >= 1 and metric["diskTotal"] > 0
    other.kill()
    assert asked("GET", f"/sandboxes/{other.sandbox_id}/metrics", key) == []
    assert asked("GET", "/sandboxes/i0000000000000000000/metrics", key, status=404)["code"] == 404
    assert "`sandbox_ids`" in asked("GET", "/sandboxes/metrics", key, status=400)["message"]


def test_logs_come_in_both_forms(sandbox, key):
    old = asked("GET", f"/sandboxes/{sandbox.sandbox_id}/logs", key)
    assert json.loads(old["logs"][0]["line"])["message"] and old["logEntries"][0]["level"] == "info"
    new = asked("GET", f"/v2/sandboxes/{sandbox.sandbox_id}/logs?limit=1", key)["logs"]
    assert len(new) == 1 and new[0]["message"] == old["logEntries"][0]["message"]
    last = asked("GET", f"/v2/sandboxes/{sandbox.sandbox_id}/logs?direction=backward&limit=1", key)["logs"]
    assert last[0]["timestamp"] >= new[0]["timestamp"]
    assert asked("GET", f"/sandboxes/{sandbox.sandbox_id}/logs?level=loud", key, status=400)["code"] == 400


def test_accounts_and_templates_are_told(key):
    (team,) = asked("GET", "/teams", key)
    assert team["isDefault"] and team["teamID"] and not team["apiKey"], "a key is not told again"
    for path in ("/templates", "/v2/templates", "/default-templates"):
        assert "base" in [name for it in asked("GET", path, key) for name in it["names"] + it["aliases"]], path
    assert asked("GET", "/templates/aliases/base", key)["templateID"] == "base"
    assert asked("GET", "/templates/aliases/nobody-made-this", key, status=404)["code"] == 404


def test_what_is_wrong_with_a_question_is_said_of_its_field(key):
    for body, words in (
        ({"templateID": 7}, "`templateID`: expected a string, found the number 7"),
        ({"templateID": "base", "timeout": "soon"}, "`timeout`: expected a whole number of 0 or more"),
        ({"templateID": "base", "timeout": -1}, "found the number -1"),
        ({"templateID": "base", "autoPause": "yes"}, "`autoPause`: expected a boolean"),
        ({"templateID": "base", "network": []}, "`network`"),
        ({"templateID": "base", "metadata": {"a": 1}}, "`metadata.a`: expected a string"),
        ({}, "`templateID`: it is missing"),
    ):
        message = asked("POST", "/v2/sandboxes", key, body, 400)["message"]
        assert words in message, (body, message)
    assert "`limit`" in asked("GET", "/v2/sandboxes?limit=many", key, status=400)["message"]
