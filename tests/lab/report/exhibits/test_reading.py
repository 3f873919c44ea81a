import pytest

from softaug.lab.report.exhibits.reading import check_exhibit, read_exhibit


def test_a_good_file_comes_back_as_it_is(table, saved):
    assert read_exhibit(saved(table)) == table


def cell_of(table):
    return table["rows"][1]["cells"][0]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda t: t.update(schema=2), "schema 1, got 2"),
        (lambda t: t.update(name="../x"), "name must be a word in small letters, got ../x"),
        (lambda t: t.update(complete="yes"), "complete must be true or false, got yes"),
        (lambda t: t["rows"][3].update(baseline="Nobody"), "baseline must be the label of a row"),
        (lambda t: cell_of(t).update(state="done"), "state must be one of"),
        (lambda t: cell_of(t).update(state="diverged"), "a diverged cell must say which seeds"),
        (lambda t: cell_of(t).update(ours=None), "a complete cell must have ours"),
        (lambda t: cell_of(t)["ours"].update(n=2), "n must count the values"),
        (lambda t: cell_of(t)["paper"].pop("se"), r"rows\[1\].cells\[0\].paper.se must be there"),
        (lambda t: t.pop("notes"), "notes must be there"),
    ],
)
def test_a_spoilt_table_is_refused_by_place(table, spoil, told):
    spoil(table)
    with pytest.raises(ValueError, match=f"{told}.*run `softaug reproduce` again"):
        check_exhibit(table)


def test_lines_of_unequal_length_are_refused(panels):
    panels["panels"][0]["lines"][1]["mean"].pop()
    with pytest.raises(ValueError, match="line 'RandAugment' must have one length"):
        check_exhibit(panels)


def test_every_offset_has_its_confidence(crops):
    crops["crops"][1]["confidence"].pop()
    with pytest.raises(ValueError, match=r"crop 'Soft crop' must have .*, got 9 and 8"):
        check_exhibit(crops)


def test_every_run_has_a_label_of_its_own(examples):
    content, _ = examples
    with pytest.raises(ValueError, match="labels must be one for each of the runs"):
        check_exhibit({**content, "labels": ["Baseline", "Baseline"]})


def test_what_is_no_object_is_refused(tmp_path):
    file = tmp_path / "table1.json"
    file.write_text("[1]")
    with pytest.raises(ValueError, match=r"exhibit .*table1.json: the file must have schema 1"):
        read_exhibit(file)
