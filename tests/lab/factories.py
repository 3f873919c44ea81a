"""Result files with numbers that can be worked out by hand, built from the schema.

Every argument has a default. `change` gives the JSON of a record with one value replaced, for
tests of files that must be refused.
"""

import base64
import io
import json
import statistics

from PIL import Image

from softaug.lab import schema

CLASSES = ["cat", "dog", "owl"]
ERRORS = {"hard": (0.10, 0.14), "soft": (0.06, 0.09)}  # lower by 0.04 and 0.05
ENVIRONMENT = {"softaug": "0.1.0", "commit": None, "torch": "2.10.0", "cpu": "EPYC", "cores": 2}
ENVIRONMENT |= {"date": "2026-11-16T04:38:10+00:00"}
OCCLUDED = {"label": "Accuracy, 40% hidden, %", "digits": 1, "higher_is_better": True}
METRICS = [
    schema.MetricSpec(key="error", label="Error, %"),
    schema.MetricSpec(key="nll", label="NLL", percent=False, digits=3),
    schema.MetricSpec(key="ece_15", label="ECE (15 bins), %"),
    schema.MetricSpec(key="occlusion/0.4", **OCCLUDED),
]
CALIBRATED = ("nll", "brier", "ece_10", "ece_15", "ece_15_mass", "l2_15_mass_debiased")
CALIBRATED += ("ece_15_classwise", "mce_15", "gap")
CALIBRATION = [
    schema.MetricSpec(key=key, label=key, percent=key not in ("nll", "brier")) for key in CALIBRATED
]


def change(record, place, value):
    """The JSON text of a record with the value at a path of keys replaced; ... removes the key."""
    content = json.loads(json.dumps(record.model_dump()))
    part = content
    for key in place[:-1]:
        part = part[key]
    if value is ...:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return json.dumps(content)


def save(record, path):
    """Write a record into a folder that is made if need be; its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return schema.write(record, path)


# Runs


def make_recipe(name="soft", seed=0):
    loss = {"soften": "both" if name == "soft" else "none", "label_smoothing": 0.0}
    data = {"name": "pets", "validation": 0}
    return {"name": name, "model": "resnet8", "data": data, "loss": loss, "seed": seed}


def make_result(name="soft", seed=0, **changes):
    content = {"recipe": make_recipe(name, seed), "seed": seed, "split": "test"}
    content |= {"error": 0.06, "nll": 0.12, "ece": 0.03, "train_loss": 0.5, "train_error": 0.2}
    content |= {"num_train": 100, "num_measured": 50, "num_classes": 3, "num_parameters": 1000}
    content |= {"weights": "checkpoints/step-15/model.safetensors", "environment": ENVIRONMENT}
    content |= {"seconds": 1.0, "images_per_second": 300.0, "processes": 1, "threads": 1}
    return schema.Result(**{**content, "device": "cpu", **changes})


def make_row(step, epoch, **numbers):
    return schema.MetricsRow(step=step, epoch=epoch, **numbers)


def make_member(name="soft", seed=0, error=0.06):
    rows = [make_row(5 * e, e, lr=0.1, train_loss=1 / e) for e in (1, 2)]
    return schema.Member(
        folder=f"/runs/{name}-seed{seed}",
        seed=seed,
        step=15,
        num_steps=15,
        finished=True,
        weights_sha256="ab" * 32,
        history=[*rows, make_row(15, 3, lr=0.1, train_loss=1 / 3, test_error=error)],
    )


# Evaluations and comparisons


def make_png(level):
    packed = io.BytesIO()
    Image.new("RGB", (8, 8), (level, level, level)).save(packed, "PNG")
    return base64.b64encode(packed.getvalue()).decode()


def make_bins(accuracy=0.9):
    return schema.ReliabilityBins(
        edges=[0.0, 0.5, 0.75, 1.0],
        count=[0, 20, 80],
        confidence=[None, 0.625, 0.875],
        accuracy=[None, 0.5, accuracy],
    )


def make_set(error=0.06):
    numbers = (2 * error, error, 0.03, error / 2, 0.025, 0.02, 0.004, 0.2, 0.01)
    before = dict(zip(CALIBRATED, numbers, strict=True))
    return schema.SetMetrics(
        n=1000,
        error=error,
        top5_error=0.0,
        before=before,
        after={**before, "nll": 1.5 * error, "ece_15": error / 4, "gap": -0.02},
        reliability=schema.ReliabilityPair(before=make_bins(0.9), after=make_bins(0.95)),
        histogram=schema.ConfidenceHistogram(right=[0, 10, 60, 800], wrong=[5, 10, 15, 100]),
    )


def make_examples(seed=0):
    whole = []
    for place in range(3):
        answers = [(place, 0.75 + 0.01 * seed), ((place + 1) % 3, 0.125)]
        png = make_png(60 * place)
        whole.append(schema.Example(index=7 + place, label=place, png=png, answers=answers))
    image = schema.ImagePrediction(png=make_png(9), answers=[(1, 0.5)])
    hidden = [schema.OccludedExamples(share=share, images=[image]) for share in (0.0, 0.4)]
    return schema.Examples(whole=whole, occluded=hidden)


def make_evaluation(name="soft", seed=0, error=0.06, **changes):
    test = make_set(error)
    values = [error, test.before["nll"], test.before["ece_15"], 0.5 - error]
    intervals = [(error - 0.02, error + 0.02), None, None, None]
    corrupted = {"levels": [0.0, 0.4], "accuracy": [1 - error, 0.5 - error], "se": [0.01, 0.02]}
    how = "fitted on 100 images that were held out"
    content = {
        "name": name,
        "recipe": make_recipe(name, seed),
        "members": [make_member(name, seed, error)],
        "class_names": CLASSES,
        "split": "test",
        "temperature": schema.Temperature(values=[1.25], how=how, others=1.25),
        "test_sets": {"test": test},
        "per_class": schema.PerClass(
            count=[10, 10, 0],
            error=[error, 0.2, None],
            nll=[2 * error, 0.5, None],
            brier=[error, 0.25, None],
            confusion=[[9, 1, 0], [0, 8, 2], [0, 0, 0]],
        ),
        "corruptions": {"occlusion": schema.CorruptionResult(**corrupted, draws=2, n=1000)},
        "fill": [128, 128, 128],
        "examples": make_examples(seed),
        "metrics": [
            schema.MetricValue(**spec.model_dump(), value=value, interval=interval)
            for spec, value, interval in zip(METRICS, values, intervals, strict=True)
        ],
        "calibration": CALIBRATION,
        "command": f"softaug evaluate /runs/{name}-seed{seed} --draws 2",
        "environment": ENVIRONMENT,
        "predictions_sha256": "cd" * 32,
    }
    return schema.Evaluation(**{**content, **changes})


def make_arm(name="soft"):
    evaluations = [make_evaluation(name, seed, error) for seed, error in enumerate(ERRORS[name])]
    values = {spec.key: [one.values[spec.key] for one in evaluations] for spec in METRICS}
    return schema.Arm(
        name=name,
        seeds=[0, 1],
        folders=[f"/runs/{name}-seed{seed}" for seed in (0, 1)],
        values=values,
        estimates={
            key: schema.Estimate((a + b) / 2, abs(a - b) / 2, 2) for key, (a, b) in values.items()
        },
        evaluations=evaluations,
    )


def make_comparison(**changes):
    words = ["better", "no difference shown", "no difference shown", "worse"]
    shown = list(zip(METRICS, words, (-0.045, -0.09, -0.0225, 0.045), strict=True))
    pair = schema.Pair(
        arm="soft",
        against="hard",
        seeds=[0, 1],
        by_seed={spec.key: schema.Estimate(mean, abs(mean) / 9, 2) for spec, _, mean in shown},
        by_image={"error": schema.Interval(-0.04, -0.0625, -0.0175, 1000, 0.95)},
        verdicts={spec.key: schema.Verdict(word, 2, "seeds") for spec, word, _ in shown},
    )
    content = {
        "metrics": METRICS,
        "calibration": CALIBRATION,
        "arms": [make_arm(name) for name in ERRORS],
        "pairs": [pair],
        "command": "softaug compare /runs/hard-seed0 /runs/hard-seed1 --out both",
        "environment": ENVIRONMENT,
    }
    return schema.Comparison(**{**content, **changes})


def make_many_classes(num=100):
    """An evaluation of many classes; those of a higher number are worse."""
    errors = [place / (2 * num) for place in range(num)]
    rows = [[90 if i == j else int(j == (i + 1) % num) * i for j in range(num)] for i in range(num)]
    classes = schema.PerClass(
        count=[100] * num, error=errors, nll=errors, brier=errors, confusion=rows
    )
    names = [f"class {place}" for place in range(num)]
    return make_evaluation(class_names=names, per_class=classes)


# Tables and figures


def paper(value, se=None):
    return schema.PublishedNumber(value=value, se=se)


def ours(*values, planned=3):
    se = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None
    mean, n = statistics.fmean(values), len(values)
    return schema.MeasuredNumber(values=list(values), mean=mean, se=se, n=n, planned=planned)


def cell(theirs=None, mine=None, state=None, *, measure="error", on="", why="", diverged=None):
    state = state or ("complete" if mine.n == mine.planned else "partial")
    return schema.CollectedCell(
        measure=measure, on=on, paper=theirs, ours=mine, diverged=diverged, state=state, why=why
    )


def row(label, *cells, group="CIFAR-100", baseline=None, quoted=None, recipe="same"):
    named = label.lower().replace(" ", "-") if recipe == "same" else recipe
    return schema.CollectedRow(
        group=group,
        label=label,
        recipe=None if quoted else named,
        baseline=baseline,
        quoted=quoted,
        cells=list(cells),
    )


def make_collected(
    name, rows=(), *, scale="paper", complete=True, notes=(), title="Errors", **parts
):
    about = {"name": name, "title": title, "scale": scale, "complete": complete}
    return schema.CollectedTable(
        **about, notes=list(notes), environment=ENVIRONMENT, rows=list(rows), **parts
    )


def make_table():
    """Every state, two groups, two measures, gains, a quoted row."""
    ece, of_hard = {"measure": "ece"}, {"baseline": "Hard crop"}
    small = {"state": "not at this scale", "why": "no small counterpart"}
    absent = {
        "state": "no data",
        "on": "ImageNet-V2",
        "why": "put ImageNet-V2 into the data folder",
    }
    mine = [ours(27.0, 29.0, 28.0), ours(2.0, 3.0, 4.0)]
    rows = [
        row("Baseline", cell(paper(25.6), state="quoted"), quoted="Zhang et al. (Mixup)"),
        row(
            "Hard crop",
            cell(paper(20.8, 0.11), ours(30.0, 31.0, 32.0)),
            cell(paper(4.86, 0.1), ours(6.0, 6.0, 6.0), **ece),
        ),
        row("Label smoothing", cell(paper(19.47, 0.18), ours(29.5, 30.0)), **of_hard),
        row(
            "Soft Augmentation",
            cell(paper(18.31, 0.17), mine[0]),
            cell(paper(1.76, 0.15), mine[1], **ece),
            **of_hard,
        ),
        row("Mixup", cell(paper(19.88, 0.38), state="waiting"), **of_hard),
        row("TrivialAugment alone", cell(None, ours(29.0, 30.0, 31.0)), **of_hard),
        row("PyramidNet-272", cell(paper(15.77, 0.17), **small)),
        row(
            "ResNet-50",
            cell(paper(22.62, 0.0), ours(22.0, 22.5, 23.0)),
            cell(paper(34.97, 0.03), **absent),
            group="ImageNet-1K",
        ),
    ]
    return make_collected("table1", rows, complete=False, notes=["SA#2 diverged above 0.2."])


def make_panels(name="figure5"):
    """Four lines against the hidden share."""
    shown = {
        "baseline": ([77.0, 70.0, 52.0, 25.0, 3.0], 3.42),
        "RandAugment": ([78.0, 72.0, 56.0, 30.0, 6.0], None),
        "Soft Augmentation": ([78.0, 73.0, 62.0, 40.0, 15.0], None),
        "both": ([79.0, 75.0, 65.0, 44.0, None], 18.98),
    }
    known = {"x": [0.0, 20.0, 40.0, 60.0, 80.0], "se": [0.5, 0.6, 0.7, None, 0.8]}
    lines = [
        schema.CollectedLine(
            label=label, mean=means, n=[3, 3, 3, 1, 3], paper=[None] * 4 + [theirs], **known
        )
        for label, (means, theirs) in shown.items()
    ]
    axes = {"x_label": "hidden share of the image, %", "y_label": "accuracy, %"}
    panel = schema.CollectedPanel(title="ResNet-50 on ImageNet", lines=lines, **axes)
    rows = [row("baseline", cell(paper(96.58), ours(97.0, planned=3), on="images 80 % hidden"))]
    return make_collected(name, rows, complete=False, title="Occlusion", panels=[panel])


def make_crops():
    """Figure 1: nine draws of a hard and of a soft crop."""
    steps = [(float(x), float(y)) for x in (-4, -1, 2) for y in (-3, 0, 4)]
    wide = [(8 * x, 7 * y) for x, y in steps]
    shares = [(1 - abs(x) / 32) * (1 - abs(y) / 32) for x, y in wide]
    crops = [
        schema.CropDraws(label="Hard crop", size=32, offsets=steps, confidence=[1.0] * 9),
        schema.CropDraws(label="Soft crop", size=32, offsets=wide, confidence=shares),
    ]
    rows = [
        row("Hard crop", cell(paper(20.8, 0.11), ours(30.0, 31.0, 32.0))),
        row("Soft crop", cell(paper(18.31, 0.17), state="waiting"), baseline="Hard crop"),
    ]
    return make_collected("figure1", rows, title="Offsets", complete=False, crops=crops)


def make_study():
    """Two arms that the paper has no numbers for."""
    hard, soft = ours(30.0, 31.0, 32.0), ours(27.0, 29.0, 28.0)
    rows = [row("hard", cell(None, hard)), row("soft", cell(None, soft), baseline="hard")]
    return make_collected("evidence", rows, scale="cpu", title="Soft against hard")
