from torchvision.models import ResNet50_Weights

from softaug.lab.data.folder import IMAGENETTE, class_words

PLACES = (0, 217, 482, 491, 497, 566, 569, 571, 574, 701)  # of Imagenette's classes in ImageNet


def imagenet_like():
    """A thousand WordNet numbers in order, real where they are Imagenette's."""
    known = [*zip(PLACES, IMAGENETTE, strict=True), (1000, "n99999999")]
    names = []
    for place, number in known:
        last = int(names[-1][1:]) if names else 0
        names += [f"n{last + step:08d}" for step in range(1, place - len(names) + 1)]
        names.append(number)
    return names[:1000]


def test_imagenette_s_words_are_those_of_torchvision_s_networks():
    theirs = ResNet50_Weights.IMAGENET1K_V2.meta["categories"]
    assert list(IMAGENETTE.values()) == [theirs[place] for place in PLACES]


def test_all_of_imagenet_has_words_by_place():
    names = imagenet_like()
    words = class_words(names)
    assert names == sorted(names)
    assert [words[names.index(number)] for number in IMAGENETTE] == list(IMAGENETTE.values())
    assert (words[1], words[999]) == ("goldfish", "toilet tissue")


def test_other_names_stay_as_they_are():
    strange = [f"n{number:08d}" for number in range(1000)]
    assert class_words(strange) == strange
    assert class_words(["0", "apple_pie"]) == ["0", "apple_pie"]
