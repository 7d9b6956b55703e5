"""docs/trust.md says what the records say."""


def test_the_page_is_that_of_the_records(trust):
    import page

    assert page.PAGE.read_text(encoding="utf-8") == page.page()
    assert "{" not in page.page()
