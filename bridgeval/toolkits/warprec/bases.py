"""Classes with WarpRec's interface: a metric written by its guide runs here after changing the import line.

    from bridgeval.toolkits.warprec import MetricBlock, UserAverageTopKMetric, metric, metric_registry

`metric(MyMetric, k=10)`, in `custom.py`, makes a class a metric of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from bridgeval.errors import BadParameterError, NeedError

Reduction = str | Callable[[Tensor], Tensor] | None


class MetricBlock(Enum):
    """The tensors that a metric can ask for. B users, N items, k the metric's cutoff."""

    BINARY_RELEVANCE = "binary_relevance"
    """`[B, N]` float: 1 where the item is relevant."""
    DISCOUNTED_RELEVANCE = "discounted_relevance"
    """`[B, N]` float: 2^(r + 1) - 1 for a rating r above 0."""
    VALID_USERS = "valid_users"
    """`[B]` float: 1 for users with a relevant item."""
    TOP_K_INDICES = "top_k_indices"
    """`[B, k]` int64, best first; N where a list is shorter than k."""
    TOP_K_VALUES = "top_k_values"
    """`[B, k]` float scores; -inf where a list is shorter than k."""
    TOP_K_BINARY_RELEVANCE = "top_k_binary_relevance"
    """`[B, k]`."""
    TOP_K_DISCOUNTED_RELEVANCE = "top_k_discounted_relevance"
    """`[B, k]`."""

    def keyword(self, k: int | None) -> str:
        """The keyword argument of `update` that holds it: `top_10_indices`."""
        return self.value if k is None else self.value.replace("top_k_", f"top_{k}_")


class BaseMetric(nn.Module):
    """A metric with states that add up over batches.

    Subclasses call `add_state` in `__init__`, change the states in `update(preds, user_indices=..., **kwargs)` and
    give `{name: number or tensor}` in `compute()`.

    Class attributes:
        _REQUIRED_COMPONENTS: the blocks that `update` reads from its keyword arguments.

    Attributes:
        listed: `[B, N]` bool during `update`: the items that the recommendations have, masked or not; None for all.
    """

    _REQUIRED_COMPONENTS: ClassVar[set[MetricBlock]] = set()
    _CAN_COMPUTE_PER_USER: ClassVar[bool] = False

    def __init__(self, dist_sync_on_step: bool = False, **kwargs: Any) -> None:
        super().__init__()
        self.state_reductions: dict[str, Reduction] = {}
        self.state_defaults: dict[str, Any] = {}
        self.listed: Tensor | None = None
        # It goes where the module goes, and so says where that is.
        self.register_buffer("_place", torch.zeros(0, device="cpu"), persistent=False)

    def add_state(
        self, name: str, default: Tensor | list[Any], dist_reduce_fx: Reduction = None, persistent: bool = False
    ) -> None:
        """Declares a state.

        Args:
            name: the attribute it becomes.
            default: its value without data: a tensor, or an empty list.
            dist_reduce_fx: merges the states of two sets of users: "sum", "mean" (weighted by users), "max", "min",
                "cat", or a function of two stacked tensors. A state with a row for each user needs none.
            persistent: whether `state_dict()` has it, if it is a tensor.
        """
        self.state_reductions[name] = dist_reduce_fx
        self.state_defaults[name] = _copy(default)
        if isinstance(default, Tensor):
            # A buffer: `to(device)` moves it, also that of a module which holds the metric.
            self.register_buffer(name, _copy(default), persistent=persistent)
        else:
            setattr(self, name, _copy(default))

    def reset(self) -> None:
        """Sets every state back to its default, on the device where the metric is."""
        for name, default in self.state_defaults.items():
            setattr(self, name, default.to(self.device, copy=True) if isinstance(default, Tensor) else _copy(default))

    def move(self, device: torch.device) -> None:
        """Moves states, buffers and also plain tensors among the attributes to a device."""
        self.to(device)
        for name, value in list(vars(self).items()):
            if isinstance(value, Tensor):
                setattr(self, name, value.to(device))

    @property
    def device(self) -> torch.device:
        """The device of the states and buffers."""
        return self.get_buffer("_place").device

    @property
    def _device(self) -> torch.device:
        # WarpRec's own classes read this name.
        return self.device

    def update(self, preds: Tensor, user_indices: Tensor, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define update(preds, user_indices, **kwargs)")

    def compute(self) -> Mapping[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} must define compute()")

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def components(self) -> set[MetricBlock]:
        return self._REQUIRED_COMPONENTS

    def block(self, which: MetricBlock, kwargs: Mapping[str, Any]) -> Tensor:
        """A block from the keyword arguments of `update`; a missing block is an error, never zeros."""
        keyword = which.keyword(getattr(self, "k", None))
        found: Tensor | None = kwargs.get(keyword)
        if found is None:
            raise NeedError(
                f"{self.name} needs the block {which.name}",
                f"update was given {', '.join(sorted(kwargs)) or 'no blocks'}",
                f"declare it in _REQUIRED_COMPONENTS; a direct call of update must pass {keyword}=",
            )
        return found

    @staticmethod
    def binary_relevance(target: Tensor) -> Tensor:
        """1 where a rating is above 0."""
        return (target > 0).float()

    @staticmethod
    def discounted_relevance(target: Tensor) -> Tensor:
        """2^(r + 1) - 1 for a rating r above 0, else r."""
        return torch.where(target > 0, torch.exp2(target + 1) - 1, target)

    @staticmethod
    def valid_users(target: Tensor) -> Tensor:
        """`[B]` float: 1 for users with a rating above 0."""
        return (target > 0).any(dim=1).float()

    @staticmethod
    def top_k_values_indices(preds: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k highest scores of each row and their columns; -inf and N beyond the last."""
        values, indices = torch.topk(preds, min(k, preds.shape[1]), dim=1)
        missing = (0, k - values.shape[1])
        pad = nn.functional.pad
        return pad(values, missing, value=float("-inf")), pad(indices, missing, value=preds.shape[1])

    @staticmethod
    def top_k_relevance_from_indices(target: Tensor, top_k_indices: Tensor) -> Tensor:
        """The target at the given columns; 0 where there is no item."""
        return nn.functional.pad(target, (0, 1)).gather(1, top_k_indices)

    @classmethod
    def top_k_relevance(cls, preds: Tensor, target: Tensor, k: int) -> Tensor:
        """The target of the k highest scores."""
        return cls.top_k_relevance_from_indices(target, cls.top_k_values_indices(preds, k)[1])

    def compute_head_tail(self, item_interactions: Tensor, pop_ratio: float = 0.8) -> tuple[Tensor, Tensor]:
        """The indices of head and tail, most popular first; of equal items the lower index is first.

        The head is the shortest list of items that has more than `pop_ratio` of all interactions.
        """
        counts, indices = item_interactions.sort(descending=True, stable=True)
        # On the host: a GPU has no deterministic cumsum of floats.
        above = counts.cpu().cumsum(0) > item_interactions.cpu().sum() * pop_ratio
        if not bool(above.any()):
            raise BadParameterError(
                f"no head of items has more than {pop_ratio:.0%} of all interactions",
                f"{float(item_interactions.sum()):.0f} interactions",
                "give a pop_ratio below 1 and a history with interactions",
            )
        size = int(above.int().argmax()) + 1
        return indices[:size], indices[size:]

    def compute_popularity(self, item_interactions: Tensor) -> Tensor:
        """`[N]`: the interactions of each item, at least 1."""
        return item_interactions.clamp(min=1)

    def compute_novelty_profile(self, item_interactions: Tensor, num_users: int, log_discount: bool = False) -> Tensor:
        """`[1, N + 1]`: 1 - interactions / users, or -log2(interactions / all interactions).

        "No item" has novelty 0; in WarpRec it is infinite under the logarithm, and lists with padding are undefined.
        """
        popularity = self.compute_popularity(item_interactions)
        novelty = -torch.log2(popularity / item_interactions.sum()) if log_discount else 1 - popularity / num_users
        return nn.functional.pad(novelty, (0, 1))[None]

    def compute_area_stats(
        self, preds: Tensor, target: Tensor, num_items: int, k: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """`[B]` each: the area under the curve times the number of relevant items, and that number.

        A relevant item adds the share of the other candidates that it is not below, where WarpRec counts one candidate
        too many: `(n - above) / n`, `n = num_items - masked - relevant + 1`. Of equal scores the higher index is first.

        Args:
            preds: `[B, N]` scores; -inf for masked items.
            target: `[B, N]` binary relevance.
            num_items: N.
            k: the number of places in which relevant items are counted; None counts them in all.

        Raises:
            NeedError: a relevant item is not listed, so that its place is not known.
        """
        listed = torch.ones_like(preds, dtype=torch.bool) if self.listed is None else self.listed
        if k is None and bool((target.bool() & ~listed).any()):
            raise NeedError(
                f"{self.name} needs the place of every relevant item",
                "lists that lack some",
                "give the scores of all candidates",
            )
        # Masked items come after all others that are listed, items that are not listed at the end.
        order = preds.flip(1).argsort(dim=1, descending=True, stable=True)
        order = order.gather(1, listed.flip(1).gather(1, order).int().argsort(dim=1, descending=True, stable=True))
        relevant = target.flip(1).gather(1, order)[:, :k]
        masked = (preds == float("-inf")) & listed
        others = num_items - masked.sum(dim=1) - target.sum(dim=1) + 1
        # In whole numbers: a GPU has no deterministic cumsum of floats.
        above = torch.arange(relevant.shape[1], device=preds.device) - (relevant.long().cumsum(dim=1) - 1)
        area = torch.where(relevant > 0, 1 - above / others[:, None], 0.0)
        return area.sum(dim=1), relevant.sum(dim=1)


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else list(value)


class TopKMetric(BaseMetric):
    """A metric of the first k places."""

    k: int

    def __init__(self, k: int, dist_sync_on_step: bool = False, **kwargs: Any) -> None:
        super().__init__(dist_sync_on_step=dist_sync_on_step)
        self.k = k

    def dcg(self, rel: Tensor) -> Tensor:
        """`[B]`: relevance `[B, k]` discounted by 1 / log2(place + 1) and summed."""
        places = torch.arange(rel.shape[1], device=rel.device)
        return (rel / torch.log2(places + 2)).sum(dim=1)

    def discounted_sum(self, k: int) -> Tensor:
        """The sum of the first k discounts."""
        places = torch.arange(k, dtype=torch.float32, device=self.device)
        return (1 / torch.log2(places + 2)).sum()

    def remap_indices(self, top_k_indices: Tensor, item_indices: Tensor | None) -> Tensor:
        """Columns of a row's candidates as items. Here columns are items already and `item_indices` is None."""
        return top_k_indices if item_indices is None else item_indices.gather(1, top_k_indices)


class UserAverageTopKMetric(TopKMetric):
    """A metric with a value for each user: subclasses define `compute_scores`, nothing else.

    Users without a relevant item do not count.
    """

    _REQUIRED_COMPONENTS: ClassVar[set[MetricBlock]] = {
        MetricBlock.BINARY_RELEVANCE,
        MetricBlock.VALID_USERS,
        MetricBlock.TOP_K_BINARY_RELEVANCE,
    }
    _CAN_COMPUTE_PER_USER: ClassVar[bool] = True

    scores: Tensor
    user_interactions: Tensor

    def __init__(self, k: int, num_users: int, *args: Any, dist_sync_on_step: bool = False, **kwargs: Any) -> None:
        super().__init__(k=k, dist_sync_on_step=dist_sync_on_step)
        self.add_state("scores", torch.zeros(num_users, dtype=torch.float32), "sum")
        self.add_state("user_interactions", torch.zeros(num_users, dtype=torch.float32), "sum")

    def unpack_inputs(self, preds: Tensor, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Target, valid users and the relevance of the first k places, as `compute_scores` gets them."""
        return (
            self.block(MetricBlock.BINARY_RELEVANCE, kwargs),
            self.block(MetricBlock.VALID_USERS, kwargs),
            self.block(MetricBlock.TOP_K_BINARY_RELEVANCE, kwargs),
        )

    def compute_scores(self, preds: Tensor, target: Tensor, top_k_rel: Tensor, **kwargs: Any) -> Tensor:
        """`[B]`: the value of each user.

        Args:
            preds: `[B, N]` scores; -inf for items that are masked or not scored.
            target: `[B, N]` binary relevance.
            top_k_rel: `[B, k]` binary relevance of the first k places.
            kwargs: all blocks by keyword.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define compute_scores(preds, target, top_k_rel, **kwargs)"
        )

    def update(self, preds: Tensor, user_indices: Tensor, **kwargs: Any) -> None:
        target, users, top_k_rel = self.unpack_inputs(preds, **kwargs)
        values = self.compute_scores(preds, target, top_k_rel, **kwargs)
        self.scores.index_add_(0, user_indices, torch.where(users > 0, values, 0.0).to(self.scores.dtype))
        self.user_interactions.index_add_(0, user_indices, users)

    def compute(self) -> Mapping[str, Any]:
        return {self.name: self.scores / self.user_interactions}


class RatingMetric(BaseMetric):
    """An error between scores and ratings, averaged over each user's rated items: subclasses define the error.

    Items that the recommendations do not list are left out. As in WarpRec a masked item, scored -inf, makes its user
    undefined, or infinite if it is a rated one.
    """

    _CAN_COMPUTE_PER_USER: ClassVar[bool] = True

    error_sum: Tensor
    total_count: Tensor

    def __init__(self, num_users: int, dist_sync_on_step: bool = False, **kwargs: Any) -> None:
        super().__init__(dist_sync_on_step=dist_sync_on_step)
        self.add_state("error_sum", torch.zeros(num_users, dtype=torch.float32), "sum")
        self.add_state("total_count", torch.zeros(num_users, dtype=torch.float32), "sum")

    def _compute_element_error(self, preds: Tensor, target: Tensor) -> Tensor:
        """The error of each cell, of the shape of `preds`."""
        raise NotImplementedError(f"{type(self).__name__} must define _compute_element_error(preds, target)")

    def update(self, preds: Tensor, user_indices: Tensor, **kwargs: Any) -> None:
        target = kwargs.get("ground")
        if target is None:
            raise NeedError(f"{self.name} needs the ratings", hint="pass ground= to update")
        listed = torch.ones_like(preds, dtype=torch.bool) if self.listed is None else self.listed
        rated = ((target > 0) & listed).float()
        # A product, not a choice: infinity times 0 is what makes users with masked items undefined.
        errors = torch.where(listed, self._compute_element_error(preds, target) * rated, 0.0)
        self.error_sum.index_add_(0, user_indices, errors.sum(dim=1).to(self.error_sum.dtype))
        self.total_count.index_add_(0, user_indices, rated.sum(dim=1))

    def compute(self) -> Mapping[str, Any]:
        return {self.name: self.error_sum / self.total_count}
