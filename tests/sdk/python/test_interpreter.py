"""The code interpreter, through its own SDK: real Jupyter kernels inside a sandbox."""

import base64
import json
import time
import urllib.error
import urllib.request

import pytest
from e2b import NotFoundException, SandboxException, ServiceBusyException, TimeoutException
from e2b_code_interpreter import Sandbox


@pytest.fixture(scope="module")
def interpreter():
    # The first one of all has its template made, which takes longer than the SDK waits.
    for _ in range(20):
        try:
            sandbox = Sandbox.create(timeout=900)
            break
        except ServiceBusyException:
            continue
    else:
        raise AssertionError("the template was not made")
    yield sandbox
    sandbox.kill()


def test_cells_share_their_variables_and_are_counted(interpreter):
    first = interpreter.run_code("x = 40\nprint('printed')\nx + 2")
    assert (first.text, first.logs.stdout, first.error) == ("42", ["printed\n"], None)
    second = interpreter.run_code("x += 1; x")
    assert (second.text, second.execution_count) == ("41", first.execution_count + 1)


def test_output_is_told_while_it_is_printed(interpreter):
    moments = []
    code = "import time, sys\nprint('one', flush=True)\ntime.sleep(1)\nprint('two', file=sys.stderr)"
    result = interpreter.run_code(
        code,
        on_stdout=lambda message: moments.append((message.line, time.monotonic())),
        on_stderr=lambda message: moments.append((message.line, time.monotonic())),
    )
    assert (result.logs.stdout, result.logs.stderr) == (["one\n"], ["two\n"])
    assert moments[1][1] - moments[0][1] > 0.5


def test_an_error_comes_with_its_traceback(interpreter):
    error = interpreter.run_code("def f():\n    return 1 / 0\nf()").error
    assert (error.name, error.value) == ("ZeroDivisionError", "division by zero")
    assert "return 1 / 0" in error.traceback.replace("\x1b", "") or "f()" in error.traceback


def test_results_come_in_every_form(interpreter):
    code = """
from IPython.display import HTML, JSON, SVG, Javascript, Latex, Markdown, display
display(HTML('<b>html</b>')); display(Markdown('**markdown**')); display(Latex('$x^2$'))
display(SVG('<svg xmlns="http://www.w3.org/2000/svg"></svg>')); display(JSON({'a': [1]})); display(Javascript('1'))
'text'
"""
    results = interpreter.run_code(code).results
    assert [result.is_main_result for result in results] == [False] * 6 + [True]
    html, markdown, latex, svg, json, javascript, text = results
    assert html.html == "<b>html</b>" and markdown.markdown == "**markdown**" and latex.latex == "$x^2$"
    assert svg.svg.startswith("<svg") and json.json == {"a": [1]} and javascript.javascript == "1"
    assert text.text == "text", "a quoted string loses its quotes"


def test_tables_and_figures_tell_what_they_show(interpreter):
    table = interpreter.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})").results[0]
    assert table.data == {"a": [1, 2], "b": ["x", "y"]} and "<table" in table.html
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label='l')\nplt.title('T')\nplt.show()"
    figure = interpreter.run_code(code).results[0]
    assert figure.png and figure.chart is not None
    chart = figure.chart.to_dict()
    assert (chart["type"], chart["title"]) == ("line", "T")
    assert [list(point) for point in chart["elements"][0]["points"]] == [[1, 3], [2, 4]]


def test_pictures_and_papers_come_as_they_are(interpreter):
    code = """
import base64, io, matplotlib.pyplot as plt
from IPython.display import Image, display
figure, axes = plt.subplots(); axes.plot([1, 2])
def made(kind):
    held = io.BytesIO(); figure.savefig(held, format=kind); return held.getvalue()
display(Image(data=made('jpeg'), format='jpeg'))
display({'application/pdf': base64.b64encode(made('pdf')).decode()}, raw=True)
display({'application/x-own': 'mine', 'text/plain': 'shown'}, raw=True)
plt.close(figure)
"""
    jpeg, pdf, own = interpreter.run_code(code).results
    assert base64.b64decode(jpeg.jpeg)[:2] == b"\xff\xd8"
    assert base64.b64decode(pdf.pdf).startswith(b"%PDF")
    assert own.extra == {"application/x-own": "mine"} and own.text == "shown"


@pytest.mark.parametrize(
    "kind, code, elements",
    [
        ("scatter", "plt.scatter([1, 2], [3, 4], label='s')", 1),
        ("bar", "plt.bar(['a', 'b', 'c'], [1, 2, 3])", 3),
        ("pie", "plt.pie([1, 3], labels=['a', 'b'])", 2),
        ("box_and_whisker", "plt.boxplot([[1, 2, 3], [2, 3, 9]], patch_artist=True)", 2),
        ("superchart", "f, (a, b) = plt.subplots(1, 2); a.plot([1, 2]); b.bar(['x'], [1])", 2),
    ],
)
def test_every_kind_of_chart_tells_what_it_shows(interpreter, kind, code, elements):
    figure = interpreter.run_code(f"import matplotlib.pyplot as plt\n{code}\nplt.show()").results[0]
    chart = figure.chart.to_dict()
    assert figure.png and (chart["type"], len(chart["elements"])) == (kind, elements), chart


def test_variables_of_the_sandbox_are_there_in_every_cell():
    sandbox = Sandbox.create(timeout=120, envs={"FLAVOUR": "sweet"})
    try:
        assert sandbox.run_code("import os; os.environ['FLAVOUR']").text == "sweet"
        assert sandbox.run_code("os.environ['FLAVOUR']", envs={"FLAVOUR": "sour"}).text == "sour"
        assert sandbox.run_code("os.environ['FLAVOUR']").text == "sweet", "as before"
        said = sandbox.run_code("echo $FLAVOUR $E2B_SANDBOX_ID", language="bash")
        assert "".join(said.logs.stdout) == f"sweet {sandbox.sandbox_id}\n"
    finally:
        sandbox.kill()


def test_a_cell_has_a_context_or_a_language_and_pages_may_ask(interpreter, url):
    context = interpreter.create_code_context()
    body = {"code": "1", "context_id": context.id, "language": "python"}
    place = {"E2b-Sandbox-Id": interpreter.sandbox_id, "E2b-Sandbox-Port": "49999"}
    headers = {**place, "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/execute", json.dumps(body).encode(), headers, method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 400 and refused.value.headers["content-type"].startswith("text/plain")
    interpreter.remove_code_context(context)
    asks = {**place, "Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    asks["Access-Control-Request-Headers"] = "content-type"
    with urllib.request.urlopen(urllib.request.Request(f"{url}/execute", headers=asks, method="OPTIONS")) as answer:
        assert answer.status in (200, 204) and answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-allow-headers"] == "*"


def test_variables_of_the_environment_are_there_for_their_cell_alone(interpreter):
    assert interpreter.run_code("import os; os.environ['COLOUR']", envs={"COLOUR": "red"}).text == "red"
    assert interpreter.run_code("os.environ.get('COLOUR', 'none')").text == "none"


def test_contexts_are_apart(interpreter):
    context = interpreter.create_code_context(cwd="/tmp")
    assert interpreter.run_code("import os; y = 1; os.getcwd()", context=context).text == "/tmp"
    assert interpreter.run_code("y").error.name == "NameError"
    assert context.id in [it.id for it in interpreter.list_code_contexts()]
    interpreter.restart_code_context(context)
    assert interpreter.run_code("y", context=context).error.name == "NameError", "a fresh kernel knows nothing"
    interpreter.remove_code_context(context)
    with pytest.raises(NotFoundException):
        interpreter.run_code("1", context=context)


def test_a_cell_that_takes_too_long_is_interrupted(interpreter):
    with pytest.raises(TimeoutException):
        interpreter.run_code("import time; time.sleep(1000)", timeout=1)
    assert interpreter.run_code("'free again'", timeout=20).text == "free again"


def test_whoever_waits_for_a_cell_is_told_of_the_pause(interpreter):
    code = "import time; print('begun', flush=True); time.sleep(1000)"
    with pytest.raises(TimeoutException, match="killed"):
        interpreter.run_code(code, timeout=0, on_stdout=lambda _: interpreter.pause())
    interpreter.connect(timeout=900)
    assert interpreter.run_code("'free again'", timeout=60).text == "free again"


def test_other_languages_have_their_kernels(interpreter):
    said = interpreter.run_code("colour=red; echo $colour $((40 + 2))", language="bash")
    assert "".join(said.logs.stdout) == "red 42\n"
    before = {it.id for it in interpreter.list_code_contexts()}
    for ask in (
        lambda: interpreter.create_code_context(language="cobol"),
        lambda: interpreter.run_code("DISPLAY 'hello'", language="cobol"),
    ):
        with pytest.raises(SandboxException, match="no kernel for cobol"):
            ask()
    assert {it.id for it in interpreter.list_code_contexts()} == before, "and there is no context for it"


def test_a_kernel_that_ends_is_told_and_replaced(interpreter):
    ended = interpreter.run_code("import os; os._exit(1)")
    assert ended.error is not None
    assert interpreter.run_code("1 + 1").text == "2"


def test_the_asynchronous_interpreter_does_the_same(interpreter):
    import asyncio

    from e2b_code_interpreter import AsyncSandbox

    async def story():
        sandbox = await AsyncSandbox.create(timeout=120)
        try:
            assert (await sandbox.run_code("40 + 2")).text == "42"
            context = await sandbox.create_code_context(cwd="/tmp")
            assert context.id in [it.id for it in await sandbox.list_code_contexts()]
            await sandbox.restart_code_context(context)
            assert (await sandbox.run_code("import os; os.getcwd()", context=context)).text == "/tmp"
            await sandbox.remove_code_context(context)
        finally:
            await sandbox.kill()

    asyncio.run(story())
