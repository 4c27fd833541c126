"""Read by every Python kernel before the first cell: figures are shown inline, and tell what they show."""


def _prepare():
    from IPython import get_ipython
    from IPython.core.formatters import BaseFormatter
    from traitlets import ObjectName, Unicode

    shell = get_ipython()
    if shell is None:
        return

    class Data(BaseFormatter):
        format_type = Unicode("e2b/data")
        print_method = ObjectName("_repr_e2b_data_")
        _return_type = dict

    class Chart(BaseFormatter):
        format_type = Unicode("e2b/chart")
        print_method = ObjectName("_repr_e2b_chart_")
        _return_type = dict

    def table(frame):
        import json

        result = frame.copy()
        for name in result.select_dtypes(include=["datetime"]).columns:
            result[name] = result[name].map(lambda moment: moment.isoformat())
        return {name: json.loads(result[name].to_json(orient="values")) for name in result.columns}

    def figure(drawn):
        try:
            from e2b_charts import chart_figure_to_dict

            return chart_figure_to_dict(drawn) or {}
        except Exception:
            return {}

    formatters = shell.display_formatter.formatters
    formatters["e2b/data"] = Data(parent=shell.display_formatter)
    for module in ("pandas", "pandas.core.frame"):  # It has moved.
        formatters["e2b/data"].for_type_by_name(module, "DataFrame", table)
    try:
        shell.run_line_magic("matplotlib", "inline")
    except Exception:
        pass  # Without matplotlib there are no figures.
    # Only now: going inline takes figures away from every formatter.
    formatters["e2b/chart"] = Chart(parent=shell.display_formatter)
    formatters["e2b/chart"].for_type_by_name("matplotlib.figure", "Figure", figure)


_prepare()
del _prepare
