"""Pages of reports as tests read them, and names that try to break them."""

import json
from html.parser import HTMLParser

HOSTILE = ("</script><script>window.bad=1</script>", "<img src=x onerror=window.bad=1>", "=cmd|x", "{{ 7*7 }}", "a & b")


def tables(page):
    """The first table of a page with each heading of its first column."""
    found = {}
    for table in page.data:
        if "columns" in table:
            found.setdefault(table["columns"][0]["title"], table)
    return found


class Page(HTMLParser):
    """Headings, scripts, ids and outside references of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.headings, self.ids, self.outside, self.data = [], [], [], [], []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self._inside = tag if tag != "script" else found.get("type", "script")
        if "id" in found:
            self.ids.append(found["id"])
        for name in ("src", "href", "xlink:href"):
            value = found.get(name, "#")
            if not value.startswith(("#", "data:")):
                self.outside.append(value)

    def handle_data(self, data):
        if self._inside == "h2":
            self.headings.append(data)
        if self._inside == "application/json":
            self.data.append(json.loads(data))

    def handle_endtag(self, tag):
        self._inside = ""
