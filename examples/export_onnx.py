"""From training to ONNX Runtime: python examples/export_onnx.py [epochs]."""

import sys
import tempfile

import onnxruntime
import torch
from sklearn.datasets import load_digits
from torch import nn

from softaug import SoftCrop, SoftLoss


class Served(nn.Module):
    """The network and its preprocessing, in one file: uint8 images in, logits out."""

    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(32 * 4 * 4, 128), nn.ReLU(), nn.Linear(128, 10),
        )  # fmt: skip

    def forward(self, images):
        return self.network(images.float() / 127.5 - 1)


def main(epochs=5):
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images * 15).to(torch.uint8).unsqueeze(1)
    labels = torch.tensor(digits.target)
    model = Served()  # soft crops are part of the training only
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    crop, loss_fn = SoftCrop(sigma=0.1, k=2), SoftLoss()
    for index in (part for _ in range(epochs) for part in torch.randperm(1000).split(50)):
        batch, soft = crop(images[index], labels[index])
        loss = loss_fn(model(batch), soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    test = images[1000:]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/digits.onnx"
        torch.onnx.export(
            model, (test[:2],), path, dynamo=True, dynamic_shapes=[{0: "batch"}], verbose=False,
            input_names=["images"], output_names=["logits"], external_data=False,
        )  # fmt: skip
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        served = torch.from_numpy(session.run(["logits"], {"images": test.numpy()})[0])
    with torch.no_grad():
        torch.testing.assert_close(served, model(test), atol=1e-4, rtol=0)
    print(f"accuracy {(served.argmax(1) == labels[1000:]).float().mean():.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
