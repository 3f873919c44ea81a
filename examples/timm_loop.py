"""Soft augmentation with timm's models, optimizers and schedules.

python examples/timm_loop.py [epochs]
"""

import sys

import timm
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import AverageMeter, accuracy

from softaug import DrawKey, SoftCrop, SoftLoss


def load():  # for CIFAR-10: torchvision.datasets.CIFAR10(...).data, moved to [N, 3, 32, 32]
    digits = load_digits()
    small = torch.tensor(digits.images * 15).float().unsqueeze(1)
    images = F.interpolate(small, size=16, mode="bilinear").to(torch.uint8)  # [N, 1, 16, 16]
    return images, torch.tensor(digits.target)


def main(epochs=4, seed=0):
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    images, labels = (part.to(device) for part in load())
    order = torch.randperm(len(images), device=device)
    train, test = order[:1000], order[1000:]

    model = timm.create_model("resnet10t", num_classes=10, in_chans=1).to(device)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=3e-3, weight_decay=0.02)
    scheduler = CosineLRScheduler(optimizer, t_initial=epochs)
    # SoftLoss stands where timm has SoftTargetCrossEntropy. Where only dense targets fit,
    # soft.dense(num_classes) gives them, without the weight.
    crop, loss_fn = SoftCrop(sigma=0.1, k=2), SoftLoss()

    for epoch in range(epochs):
        model.train()
        scheduler.step(epoch)
        losses = AverageMeter()
        for index in train[torch.randperm(len(train), device=device)].split(32):
            batch, soft = crop(images[index], labels[index], key=DrawKey(seed, epoch, index))
            loss = loss_fn(model(batch / 255), soft)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.update(loss.item(), len(index))
        print(f"epoch {epoch} loss {losses.avg:.3f} lr {optimizer.param_groups[0]['lr']:.5f}")

    model.eval()
    with torch.no_grad():
        (top1,) = accuracy(model(images[test] / 255), labels[test])
    print(f"accuracy {top1.item() / 100:.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
