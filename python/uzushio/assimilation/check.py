"""Requirements of an assimilation, for `uzushio check`."""

from __future__ import annotations

import math
from pathlib import Path

from uzushio._base.config.quantities import show_duration, show_size
from uzushio._base.config.yaml_document import Document
from uzushio._base.parallel import affinity, launch
from uzushio._base.parallel.affinity import Policy
from uzushio._base.parallel.memory import node_memory
from uzushio.assimilation.case import AssimilationCase, load_assimilation
from uzushio.assimilation.hessian import hessian_plan
from uzushio.assimilation.memory import needs
from uzushio.assimilation.model import Model, model_class
from uzushio.assimilation.schedule import plan
from uzushio.errors import CaseError

#: Range of the measured time of an iteration over its estimate, which does not include the
#: optimiser's vectors and communication, nor that early stages have shorter windows.
_FASTER, _SLOWER = 0.5, 2.0
#: Time of a Hessian-vector product (tangent, second-order adjoint) over that of a gradient.
_PRODUCT = 2.0


def check(path: Path, document: Document, ranks: int, policy: Policy = Policy.NONE) -> None:
    """Print the requirements of a case on `ranks` ranks; raise `CaseError` if it cannot run."""
    case = load_assimilation(document)
    kind = model_class(case.model)
    groups = kind.groups(case, ranks)
    if ranks % groups:
        raise CaseError(f"blocking.oblt: {groups} groups do not divide {ranks} ranks evenly.")
    each = ranks // groups
    print(f"{path} is valid: {case.title or case.model}")
    for note in kind.notes(case, each):
        print(note)
    if groups > 1:
        print(f"{groups} groups of {each} ranks try candidates at the same time")
    state = 8 * math.prod(kind.shape_of(case)) // each
    steps = case.time.steps
    every = kind.kept_every(case, each)
    print(f"one state: {show_size(state)} a rank; all {steps}: {show_size(steps * state)}")
    if every > 1:
        size = show_size(-(-steps // every) * state)
        print(f"a gradient keeps each {every}th of them: {size}; it computes the others again")
    wanted = needs(case, ranks)
    print(f"observations: {show_size(wanted.observations)}")
    vectors = round(wanted.optimiser / wanted.state)
    print(f"the optimiser: {show_size(wanted.optimiser)} ({vectors} arrays of the size of a state)")
    total, free = ranks * wanted.required, node_memory()
    largest = wanted.required - wanted.min_trajectories + wanted.trajectories
    print(
        f"memory: {show_size(wanted.required)} a rank at least, up to "
        f"{show_size(largest)} with all states kept; "
        f"all {ranks}: {show_size(total)} at least; free on this machine: "
        f"{show_size(free.bytes)} ({free.limit})"
    )
    if total > free.bytes:
        print(
            "note: this machine does not have the memory for it; an assimilation on this machine "
            "alone is refused"
        )
    _print_time(case, kind, ranks)
    if policy is not Policy.NONE:
        print(affinity.plan(policy, ranks, case.threads_per_rank).check_text())
    if case.uncertainty.kind == "ensemble":
        print(
            f"an ensemble of {case.uncertainty.members} perturbed assimilations, "
            f"{-(-case.uncertainty.members // groups)} one after the other"
        )
    if case.trajectory.memory is None:
        print("trajectory: all states where they fit into half of the free memory")
        return
    fitting = int(case.trajectory.memory // state)
    if fitting < 1:
        raise CaseError(
            f"trajectory.memory: a state takes {state:,} bytes on each of {each} ranks, got "
            f"{int(case.trajectory.memory):,}; give it more, or use more ranks."
        )
    kept = plan(steps, fitting, every=every)
    print(
        f"trajectory: {kept.snapshots} snapshots and a window of {kept.window} states; J and its "
        f"gradient take {kept.forward_steps} forward steps ({kept.forward_steps / steps:.2f} runs)"
    )
    product = hessian_plan(steps, fitting)
    print(
        f"a Hessian-vector product: {product.snapshots} snapshots, a window of {product.window}, "
        f"{product.forward_steps} steps of model and tangent"
    )


def _print_time(case: AssimilationCase, kind: type[Model], ranks: int) -> None:
    """Print the time of the search on all ranks, and of the uncertainties after it."""
    groups = kind.groups(case, ranks)
    launch.prepare_environment()
    each = kind.seconds_per_iteration(case, ranks // groups)
    if each is None:
        return
    most = case.optimiser.iterations
    print(
        f"time: {show_duration(each)} an iteration over all {case.time.steps} steps, on cores such "
        f"as this machine's; {show_duration(_FASTER * most * each)} to "
        f"{show_duration(_SLOWER * most * each)} for all {most} iterations, of which few searches "
        "need all"
    )
    products = case.uncertainty.iterations
    if products:
        count = len(kind.parameters)
        whole = _PRODUCT * each * products * count
        print(
            f"time of standard deviations: up to {show_duration(_SLOWER * whole)} for {products} "
            "Hessian-vector products" + (f" for each of {count} parameters" if count > 1 else "")
        )
    if case.uncertainty.kind == "ensemble":
        rounds = -(-case.uncertainty.members // groups)
        print(
            f"time of the ensemble: up to {show_duration(_SLOWER * rounds * most * each)}, each "
            "member as the search"
        )
