"""Promises of the two components, kept in Chromium: numbers equal torch's, the keyboard does all, what moves is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("jupyter_book", reason="the book extra is not installed: pip install '.[book]'")

import pydata_sphinx_theme
import torch
from browsing import DESKTOP, FLAGS, PHONE, violations
from course_site.components import filled
from course_site.explorer_fallback import LAYERS, default_tensor, normalize
from torch import Tensor, nn

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

BOOK = Path(__file__).parents[2] / "book"
SCRIPTS = [BOOK / "_static/norm-explorer.js", BOOK / "_static/running-statistics.js"]
THEME = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static/styles/pydata-sphinx-theme.css"
SHAPES = {"sequence": (2, 4, 3), "image": (3, 4, 2, 2), "one sample": (1, 6, 2)}
VISIBLE = 0.0001  # an output that differs by less counts as unmoved, says docs/book-components.md
Show = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Lend one Chromium to the tests of this file."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def show(browser: Browser) -> Iterator[Show]:
    """Return a function that shows tags on a bare page in the theme's colours; nothing may complain or be asked for."""
    contexts, complaints = [], []

    def show_tags(tags: str, theme: str = "light", size: tuple[int, int] = DESKTOP, **options: object) -> Page:
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        contexts.append(context)
        context.set_default_timeout(5_000)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("request", lambda request: complaints.append(f"asked for {request.url}"))
        scripts = "".join(f"<script>{script.read_text('utf8')}</script>" for script in SCRIPTS)
        page.set_content(
            f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>Components</title>'
            f"<style>{THEME.read_text('utf8')}</style><main style='padding: 1rem'><h1>Components</h1>\n"
            f"{filled(tags, complaints.append)}\n</main>{scripts}"
        )
        return page

    yield show_tags
    for context in contexts:
        context.close()
    assert complaints == []


def number(text: str) -> float:
    """Return the number that a text shows with a true minus sign."""
    return float(text.replace("−", "-"))


def element_text(index: tuple[int, ...]) -> str:
    """Return how the explorer names an element."""
    return f"x[{', '.join(map(str, index))}]"


def explorer(**attributes: object) -> str:
    """Return a tag."""
    return "<norm-explorer" + "".join(f' {name}="{value}"' for name, value in attributes.items()) + "></norm-explorer>"


def shaped(shape: tuple[int, ...], **attributes: object) -> str:
    """Return a tag for a tensor of this shape."""
    return explorer(shape=",".join(map(str, shape)), **attributes)


def inputs(page: Page | Locator) -> Locator:
    """Return the cells of the input."""
    return page.locator("#in .cell")


def shown(page: Page, panel: str, shape: tuple[int, ...]) -> Tensor:
    """Return the numbers of a panel, `in` or `out`."""
    texts = page.locator(f"#{panel} .cell").all_inner_texts()
    return torch.tensor([number(text) for text in texts], dtype=torch.float64).view(shape)


def table(page: Page | Locator) -> list[list[str]]:
    """Return the rows of the table that is seen: the component's, or without JavaScript the one inside the tag."""
    rows = page.locator("table:visible").inner_text().strip().splitlines()
    return [[cell.strip() for cell in row.split("\t")] for row in rows]


def said_of_each(page: Page) -> list[str]:
    """Return what the status says of each element when a pointer comes over it, in one call, since there are many."""
    return inputs(page).evaluate_all(
        """cells => cells.map(cell => {
            cell.dispatchEvent(new PointerEvent("pointerover", { bubbles: true, composed: true }));
            return cell.getRootNode().querySelector("#said p").textContent;
        })"""
    )


def moved(page: Page) -> set[int]:
    """Return which outputs are marked as moved."""
    return set(page.locator("#out .cell").evaluate_all("a => a.flatMap((e, i) => e.matches('.up, .down') ? [i] : [])"))


def press(page: Page, *keys: str) -> None:
    """Press keys one after another."""
    for key in keys:
        page.keyboard.press(key)


def choose_layer(page: Page, layer: str) -> None:
    """Choose a layer by the arrow keys of the radio buttons."""
    page.locator("input[type=radio]:checked").focus()
    for _ in LAYERS:
        if page.locator(f"input[value={layer}]").is_checked():
            return
        page.keyboard.press("ArrowRight")
    pytest.fail(f"{layer} cannot be reached")


def as_torch(code: str, x: Tensor) -> Tensor:
    """Return what a line of torch that the explorer shows makes of x."""
    torch.set_default_dtype(torch.float64)
    try:
        return eval(code, {"nn": nn, "x": x}).detach()
    finally:
        torch.set_default_dtype(torch.float32)


# norm-explorer: numbers


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_numbers_equal_those_of_the_line_of_torch_that_is_shown(show, layer, shape):
    """Outputs, the table of statistics and their shape are what the shown lines of torch return for the shown input."""
    page = show(shaped(shape, layer=layer, groups=2))
    x = shown(page, "in", shape)
    assert torch.equal(x, default_tensor(list(shape)))
    call, statistic = page.locator("#torch code").all_inner_texts()
    y, power = as_torch(call, x), as_torch(statistic, x)
    assert torch.allclose(shown(page, "out", shape), y, rtol=0, atol=0.00501)
    stated = re.search(r"shape \((.*)\)", page.locator("#torch").inner_text())
    assert tuple(map(int, stated[1].split(", "))) == tuple(power.shape)

    mean, biased = (s.flatten() for s in normalize(layer, x, 2)[1:])
    rows = [(number(row[1]), number(row[2])) for row in table(page)[2:]]  # below caption and head
    assert len(rows) == power.numel()
    first = 1 if layer == "rms" else 0
    assert [row[first] for row in rows] == pytest.approx(power.flatten().tolist(), abs=0.000501)
    for index, said in enumerate(said_of_each(page)):
        numbers = [number(n) for n in re.findall(r" = (−?\d+\.\d+)", said.split(":")[1])]
        assert numbers == pytest.approx(
            [mean[index].item(), biased[index].item(), y.flatten()[index].item()], abs=0.000501
        )
        assert (numbers[0], numbers[1]) in rows
        assert f"m = {x.numel() // power.numel()} numbers" in said


def test_values_of_the_author_are_used(show):
    """The attribute values gives the tensor, with commas or blanks: the chapter's 1, 2, 6 by hand."""
    page = show(explorer(shape="3,1,1", values="1,2 6"))
    assert inputs(page).all_inner_texts() == ["1", "2", "6"]
    assert page.locator("#out .cell").all_inner_texts() == ["−0.93", "−0.46", "1.39"]
    assert table(page)[2] == ["channel 0", "3.000", "4.667"]


def test_epsilon_stands_beside_the_variance(show):
    """With numbers as small as its root, epsilon shows: the outputs are those of torch for every layer."""
    values = [0.004, -0.002, 0.001, 0.003, -0.003, 0.002, 0.0, 0.001]
    page = show(explorer(shape="2,2,2", values=",".join(map(str, values)), groups=1))
    x = torch.tensor(values, dtype=torch.float64).view(2, 2, 2)
    for layer in LAYERS:
        choose_layer(page, layer)
        y = normalize(layer, x, 1)[0]
        assert y.abs().max() < 0.99
        assert torch.allclose(shown(page, "out", (2, 2, 2)), y, rtol=0, atol=0.00501)


def test_slider_of_groups_runs_over_the_divisors_and_names_both_ends(show):
    """The keyboard reaches each G that divides C; G = 1 and G = C give the outputs of layer and instance norm."""
    shape = (2, 6, 2)
    page = show(shaped(shape, layer="group", groups=1))
    x, slider = shown(page, "in", shape), page.get_by_role("slider", name="Groups")
    slider.focus()
    for groups, end in ((1, ", as layer norm"), (2, ""), (3, ""), (6, ", as instance norm")):
        assert slider.get_attribute("aria-valuetext") == page.locator("#groups b").inner_text() == f"G = {groups}{end}"
        assert page.locator("#torch code").first.inner_text() == f"nn.GroupNorm({groups}, 6)(x)"
        y = nn.functional.group_norm(x, groups)
        assert torch.allclose(shown(page, "out", shape), y, rtol=0, atol=0.00501)
        page.keyboard.press("ArrowRight")
    choose_layer(page, "batch")
    assert not slider.is_visible()


def test_no_number_is_minus_zero(show):
    """A tiny negative number is 0, whatever the layer."""
    values = "-0.001,0.001,-3,3,-0.0001,0,2,-2"
    page = show(
        explorer(shape="2,2,2", values=values, groups=1) + "\n<running-statistics mean='0'></running-statistics>"
    )
    for layer in LAYERS:
        choose_layer(page, layer)
        text = "\n".join([*said_of_each(page), page.locator("norm-explorer #box").inner_text()])
        assert not re.search(r"[-−]0(\.0*)?(?![\d.])", text)
        assert "−" in text


# norm-explorer: which numbers share a mean


@pytest.mark.parametrize("layer", LAYERS)
def test_the_set_of_an_element_is_framed_and_has_a_pattern_of_its_own(show, layer):
    """Elements that share a statistic share a pattern; two sets differ in the lines of theirs, not in colour alone."""
    shape = (2, 3, 3)
    page = show(shaped(shape, layer=layer, groups=3))
    wanted = normalize(layer, torch.arange(18.0, dtype=torch.float64).view(shape), 3)[1].flatten().tolist()
    sets = page.evaluate(
        """() => [...document.querySelector("norm-explorer").shadowRoot.querySelectorAll("#in svg")].flatMap((svg, n) =>
        [...svg.querySelectorAll("g")].slice(0, -1).map(g => [n, g.querySelector("[fill^='url']")]).flatMap(([n, path]) =>
        [...path.getAttribute("d").matchAll(/M(\\d+) (\\d+)/g)].map(([, x, y]) =>
        [n * 9 + (y / 25) * 3 + x / 33, path.getAttribute("fill")])))"""
    )
    marks = dict(map(tuple, sets))
    assert len(marks) == len(sets) == 18
    for i in range(18):
        assert {j for j in range(18) if marks[j] == marks[i]} == {j for j in range(18) if wanted[j] == wanted[i]}
    lines = page.locator("#patterns path:last-child").evaluate_all("a => a.map(e => e.getAttribute('d'))")
    assert len(lines) == len(set(marks.values()))
    assert len(set(lines)) == min(7, len(lines))
    looks = page.locator("#patterns pattern").evaluate_all("a => a.map(e => e.innerHTML)")
    assert len(set(looks)) == len(looks)


def test_pointing_shows_a_set_and_leaving_returns_to_the_chosen_one(show):
    """Hovering an input or an output shows its set for as long as the pointer is there."""
    page = show(shaped((2, 4, 3), layer="instance", chosen="0,0,0"))
    said = page.locator("#said")
    assert "sample 0, channel 0" in said.inner_text()
    inputs(page).nth(17).hover()  # x[1, 1, 2]
    assert said.inner_text().startswith("x[1, 1, 2] = 10 is one of the m = 3 numbers of sample 1, channel 1: ")
    assert inputs(page).nth(17).get_attribute("aria-selected") == "true"
    page.locator("#out .cell").nth(8).hover()
    assert "sample 0, channel 2" in said.inner_text()
    assert page.locator("tr.on").inner_text().strip().startswith("sample 0, channel 2")
    page.mouse.move(0, 0)
    assert "sample 0, channel 0" in said.inner_text()


# norm-explorer: keyboard and screen reader


def test_the_keyboard_alone_does_everything(show):
    """Tab goes over layer, tensor, slider, button; arrows move over the tensor; plus and minus change its number."""
    page = show(shaped((2, 4, 3), chosen="0,1,2"))
    said = page.locator("#said")
    press(page, "Tab", "ArrowRight", "ArrowLeft", "ArrowRight")
    assert page.get_by_role("radio", name="layer norm", exact=True).is_checked()
    press(page, "Tab")
    active = "document.activeElement.shadowRoot.activeElement"
    assert page.evaluate(f"{active}.ariaLabel").startswith("x[0, 1, 2] = 4, output ")
    for key, name in (
        ("ArrowRight", "x[1, 1, 0]"),  # over the edge into the next sample
        ("ArrowLeft", "x[0, 1, 2]"),
        ("ArrowUp", "x[0, 0, 2]"),
        ("ArrowUp", "x[0, 0, 2]"),  # an edge that holds
        ("Home", "x[0, 0, 0]"),
        ("ArrowLeft", "x[0, 0, 0]"),
        ("ArrowDown", "x[0, 1, 0]"),
        ("End", "x[0, 1, 2]"),
    ):
        press(page, key)
        assert page.evaluate(f"{active}.ariaLabel").startswith(f"{name} = ")
        assert said.inner_text().startswith(f"{name} = ")
        assert inputs(page).evaluate_all("a => a.filter(e => e.tabIndex === 0).length") == 1
    press(page, "+", "+", "-")
    assert inputs(page).nth(5).inner_text() == "4.5"
    assert "x[0, 1, 2] went from 4 to 4.5: 12 of 24 outputs moved" in said.inner_text()
    press(page, "Control+ArrowRight", "Alt+ArrowDown")  # not ours
    assert page.evaluate(f"{active}.ariaLabel").startswith("x[0, 1, 2] = 4.5, output ")
    press(page, "Tab", "ArrowLeft", "ArrowLeft")  # the slider
    assert inputs(page).nth(5).inner_text() == "3.5"
    press(page, "Tab", "Enter")  # Reset
    assert inputs(page).nth(5).inner_text() == "4"
    assert moved(page) == set()


def test_keyboard_moves_over_images_row_by_row(show):
    """In (N, C, H, W), up and down go over the rows of one channel into the next, left and right over columns and samples."""
    page = show(shaped((2, 2, 2, 3), chosen="0,0,1,1"))
    press(page, "Tab", "Tab")
    for key, name in (
        ("ArrowDown", "x[0, 1, 0, 1]"),
        ("ArrowDown", "x[0, 1, 1, 1]"),
        ("ArrowDown", "x[0, 1, 1, 1]"),
        ("ArrowRight", "x[0, 1, 1, 2]"),
        ("ArrowRight", "x[1, 1, 1, 0]"),
        ("End", "x[1, 1, 1, 2]"),
        ("ArrowRight", "x[1, 1, 1, 2]"),
    ):
        press(page, key)
        assert page.locator("#said").inner_text().startswith(name)


def test_a_screen_reader_meets_names_and_is_told_politely(show):
    """Every control has a name; a grid of rows of cells says number and output; one status tells what happened."""
    page = show(shaped((2, 4, 3), layer="group"))
    assert page.get_by_role("group", name="Which numbers share a mean?").count() == 1
    names = page.get_by_role("radiogroup", name="Layer").get_by_role("radio")
    assert [radio.evaluate("e => e.labels[0].innerText.trim()") for radio in names.all()] == [
        n for n, _ in LAYERS.values()
    ]
    grid = page.get_by_role("grid", name="Input x")
    assert grid.get_by_role("row").count() == 8
    assert grid.get_by_role("gridcell").count() == 24
    assert grid.get_by_role("gridcell", name="x[1, 3, 2] = 2, output 0.40").count() == 1
    page.get_by_role("slider", name="Change x[0, 0, 0] = −1").focus()
    press(page, "ArrowRight")
    assert "up" in grid.get_by_role("gridcell", name="x[0, 0, 0] = −0.5").get_attribute("aria-label")
    assert page.get_by_role("status").count() == 1
    assert "went from −1 to −0.5" in page.get_by_role("status").inner_text()


# norm-explorer: what moves


@pytest.mark.parametrize("layer", LAYERS)
def test_what_moves_is_what_moves_in_torch(show, layer):
    """Batch norm leaks into the other samples, the other layers keep a sample's change to it; both are said."""
    shape, index = (3, 4, 2), (1, 2, 0)
    page = show(shaped(shape, layer=layer, chosen="1,2,0", groups=2))
    before = shown(page, "in", shape)
    page.get_by_role("slider", name=f"Change {element_text(index)}").focus()
    press(page, "ArrowRight", "ArrowRight", "ArrowRight")
    after = shown(page, "in", shape)
    assert (after - before)[index] == 1.5
    change = normalize(layer, after, 2)[0] - normalize(layer, before, 2)[0]
    wanted = {i for i, d in enumerate(change.flatten().tolist()) if abs(d) >= VISIBLE}
    assert moved(page) == wanted
    up = page.locator("#out .cell").evaluate_all("a => a.flatMap((e, i) => e.matches('.up') ? [i] : [])")
    assert set(up) == {i for i in wanted if change.flatten()[i] > 0}
    away = sum(i // 8 != index[0] for i in wanted)
    assert (away > 0) == (layer == "batch")
    told = f"{away} of them in other samples" if away else "none in another sample"
    assert f"{len(wanted)} of 24 outputs moved, {told}." in page.locator("#said").inner_text()


def test_the_same_change_is_counted_anew_for_another_layer(show):
    """Who changes a number once can go through the layers and compare; looking at other elements does not end it."""
    page = show(shaped((2, 4, 3), chosen="0,1,2"))
    press(page, "Tab", "Tab", "+", "+", "ArrowLeft")
    counts = {}
    for layer in LAYERS:
        choose_layer(page, layer)
        counts[layer] = len(moved(page))
        assert "x[0, 1, 2] went from 4 to 5: " in page.locator("#said").inner_text()
    assert counts == {"batch": 6, "layer": 12, "token": 4, "instance": 3, "group": 6, "rms": 4}


def test_when_nothing_moves_it_is_said(show):
    """A set of one number is 0 before and after: no output moves, and the status says so."""
    page = show(shaped((2, 3, 1), layer="group", groups=3))
    page.get_by_role("slider", name="Change").focus()
    press(page, "ArrowRight")
    assert moved(page) == set()
    assert "0 of 6 outputs moved, none in another sample." in page.locator("#said").inner_text()


# running-statistics


@pytest.mark.parametrize("momentum", ["0.1", "0.9", "0", "1", "None"])
def test_running_statistics_equal_torchs(show, momentum):
    """Step by step: batch mean, unbiased variance, both buffers and the gap between the modes are torch's."""
    page = show(f'<running-statistics momentum="{momentum}" steps="6" drift="0.5"></running-statistics>')
    layer = nn.BatchNorm1d(
        1, momentum=None if momentum == "None" else float(momentum), affine=False, dtype=torch.float64
    )
    assert momentum in page.locator("#call").inner_text()
    page.get_by_role("button", name="Step").focus()
    for step in range(1, 7):
        press(page, "Enter")
        batch = torch.tensor(
            [[number(v)] for v in page.locator("#batch").inner_text().split(", ")], dtype=torch.float64
        )
        gap = (layer.train()(batch) - layer.eval()(batch)).abs().mean()
        wanted = [batch.mean(), layer.running_mean, batch.var(), layer.running_var, gap]
        row = next(row for row in table(page) if row[0] == str(step))
        assert [number(v) for v in row[1:]] == pytest.approx([w.item() for w in wanted], abs=0.000501)
        said = page.get_by_role("status").inner_text()
        assert f"running_mean = {said.split('running_mean = ')[1].split(' = ')[0]} = {row[2]}" in said
        assert f"differ by {row[5]} on average" in said
    press(page, "Enter")
    assert "Step 6 of 6." in page.get_by_role("status").inner_text()


def test_another_momentum_is_tried_on_the_same_batches(show):
    """Moving the slider redoes the history; the batches stay, and the weight of the start is (1 - momentum) ** t."""
    page = show('<running-statistics momentum="0.1" at="5"></running-statistics>')
    batch = page.locator("#batch").inner_text()
    means = [row[1] for row in table(page)[2:]]
    slider = page.get_by_role("slider", name="Momentum")
    slider.focus()
    press(page, *["ArrowRight"] * 10)
    assert page.locator("#call").inner_text() == "nn.BatchNorm1d(1, momentum=0.2)"
    assert page.locator("#batch").inner_text() == batch
    assert [row[1] for row in table(page)[2:]] == means
    assert "The start still weighs 32.8 %" in page.get_by_role("status").inner_text().replace("\xa0", " ")
    page.get_by_role("checkbox", name="None").focus()
    press(page, "Space")
    assert page.locator("#call").inner_text() == "nn.BatchNorm1d(1, momentum=None)"
    assert "The start still weighs 0.0 %" in page.get_by_role("status").inner_text().replace("\xa0", " ")


def test_charts_have_words_and_draw_a_point_per_step(show):
    """Each chart says its last numbers; nothing is drawn before the first batch."""
    page = show('<running-statistics momentum="0.5" steps="10"></running-statistics>')
    charts = page.locator("#charts").get_by_role("img")
    assert charts.count() == 3
    assert charts.first.locator("circle").count() == 0
    assert "batch none yet, running 0.000, true 3.00" in charts.first.get_attribute("aria-label")
    page.get_by_role("button", name="Step").focus()
    press(page, "Enter", "Enter", "Enter")
    assert charts.first.locator("circle").count() == 3
    row = next(row for row in table(page) if row[0] == "3")
    assert f"Mean after 3 steps: batch {row[1]}, running {row[2]}, true 3.00" == charts.first.get_attribute(
        "aria-label"
    )
    assert charts.nth(2).get_attribute("aria-label") == f"Gap between the modes after 3 steps: {row[5]}"


def test_it_plays_only_when_asked_and_can_be_stopped(show):
    """No autoplay; Play steps by itself and is silent meanwhile; Pause, Step and Reset stop it; it stops at the end."""
    page = show("<p></p>")
    page.clock.install()
    page.evaluate("document.querySelector('p').outerHTML = '<running-statistics steps=\"4\"></running-statistics>'")
    status = page.get_by_role("status")

    def at() -> str:
        return status.locator("b").first.inner_text()

    page.clock.run_for(5000)
    assert at() == "Step 0 of 4."
    page.get_by_role("button", name="Play").focus()
    press(page, "Enter")
    assert at() == "Step 1 of 4."
    assert status.get_attribute("aria-live") == "off"
    page.clock.run_for(700)
    assert at() == "Step 2 of 4."
    assert page.get_by_role("button", name="Pause").evaluate("e => e.getRootNode().activeElement === e")
    press(page, "Enter")
    page.clock.run_for(5000)
    assert at() == "Step 2 of 4."
    assert status.get_attribute("aria-live") == "polite"
    press(page, "Enter")
    page.clock.run_for(5000)
    assert at() == "Step 4 of 4."
    assert page.get_by_role("button", name="Play").count() == 1
    page.get_by_role("button", name="Reset").focus()
    press(page, "Enter")
    page.clock.run_for(5000)
    assert at() == "Step 0 of 4."


def test_who_wants_less_motion_gets_none(show):
    """With reduced motion the button goes to the end at once; the other component never animates."""
    page = show("<running-statistics></running-statistics>\n<norm-explorer></norm-explorer>", reduced_motion="reduce")
    assert page.get_by_role("button", name="Play").count() == 0
    page.get_by_role("button", name="To the end").focus()
    press(page, "Enter")
    assert "Step 40 of 40." in page.locator("running-statistics").get_by_role("status").inner_text()
    assert page.evaluate("document.getAnimations().length") == 0
    for script in SCRIPTS:
        assert not re.search(r"transition|animation|@keyframes|requestAnimationFrame", script.read_text("utf8"))


# both


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing_and_the_theme_is_followed(show, theme, size):
    """No violation in either theme and width, with a change made; colours are the theme's."""
    page = show(
        shaped((2, 4, 3), layer="group", chosen="0,1,2") + '\n<running-statistics at="12"></running-statistics>',
        theme,
        size,
    )
    page.get_by_role("slider", name="Change").focus()
    press(page, "ArrowRight", "ArrowRight")
    assert violations(page) == []
    colours = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    for tag in ("norm-explorer", "running-statistics"):
        assert page.locator(tag).evaluate(colours) == page.locator("body").evaluate(colours)


@pytest.mark.parametrize("tag", [shaped((2, 4, 3)), shaped((3, 4, 2)), shaped((2, 4, 2, 2)), shaped((4, 6, 4)),
                                 '<running-statistics at="40"></running-statistics>'])  # fmt: skip
def test_a_phone_does_not_scroll_sideways(show, tag):
    """At 360 pixels both fit, with every layer; a cell is at least 24 pixels high and wide."""
    page = show(tag, size=PHONE)
    for layer in LAYERS if "explorer" in tag else [None]:
        if layer:
            choose_layer(page, layer)
            box = inputs(page).first.bounding_box()
            assert min(box["width"], box["height"]) >= 24
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


@pytest.mark.parametrize("tag", [shaped((2, 4, 3), layer="token"), '<running-statistics at="3"></running-statistics>'])
def test_without_javascript_a_picture_and_a_table_stand_there(show, tag):
    """With JavaScript off the inside of the tag is shown; with it, the component takes its place."""
    off = show(tag, java_script_enabled=False)
    assert off.get_by_role("img").first.is_visible()
    assert off.get_by_role("table").is_visible()
    assert "With JavaScript" in off.locator("figcaption").inner_text()
    on = show(tag)
    assert not on.locator("figure figcaption", has_text="With JavaScript").is_visible()
    assert on.locator("#said").is_visible()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_what_is_shown_without_javascript_is_what_the_component_shows_first(show, shape):
    """The fallback, which torch computes, and the component agree for each layer: sentence, statistics, all numbers."""
    tags = "\n".join(shaped(shape, layer=layer, groups=2, chosen=",".join("0" * len(shape))) for layer in LAYERS)
    pages = show(tags), show(tags, java_script_enabled=False)
    for on, off in zip(*(page.locator("norm-explorer").all() for page in pages), strict=True):
        assert off.locator("figcaption").inner_text().startswith(on.locator("#said p").first.inner_text())
        assert table(off)[1:] == table(on)[1:]
        numbers = off.locator("svg text[text-anchor=middle]").evaluate_all("a => a.map(e => e.textContent)")
        assert numbers == inputs(on).all_inner_texts() + on.locator("#out .cell").all_inner_texts()


def test_running_fallback_is_what_the_component_shows_at_the_end(show):
    """Both draw the same batches: the fallback's rows are rows of the component's table."""
    tag = '<running-statistics momentum="0.3" drift="-0.2" mean="1" std="0.5" batch-size="5" at="40"></running-statistics>'
    rows, all_rows = table(show(tag, java_script_enabled=False))[2:], table(show(tag))
    assert len(rows) >= 8
    assert [row for row in rows if row not in all_rows] == []


def test_two_on_one_page_do_not_meet(show):
    """A change in one leaves another alone, and a radio button of one is none of the other's."""
    page = show(f"{explorer(layer='batch')}\n\n{explorer(layer='rms')}")
    first, second = page.locator("norm-explorer").all()
    first.get_by_role("radio", name="instance norm").check()
    assert second.get_by_role("radio", name="RMS norm").is_checked()
    assert "position" in second.locator("#said").inner_text()
