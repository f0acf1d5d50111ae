"""Claims about the options of `chrono audit`: each reaches its field, and what does not go together is refused."""

from __future__ import annotations

import dataclasses

import pytest

from chrono.cli.audit_options import Act, Sought, check
from chrono.errors import UsageError


def test_without_an_option_records_are_shown() -> None:
    check(Act(), Sought())
    assert Act().kind is None


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (Act(verify=True, full=True, strict=True, new=True, against="copy"), "verify"),
        (Act(keys=True), "keys"),
        (Act(reset_witness=True, reason="moved"), "reset_witness"),
        (Act(rotate_key=True, new_key="new.pem", reason="yearly"), "rotate_key"),
        (Act(revoke_key="ab" * 16, trusted_until=0, reason="stolen"), "revoke_key"),
        (Act(revoke_key=""), "revoke_key"),
        (Act(push="https://store.example"), "elsewhere"),
        (Act(push=""), "elsewhere"),
        (Act(verify_remote=True, full=True, strict=True), "elsewhere"),
        (Act(witness=True), "witness"),
    ],
)
def test_an_act_goes_with_what_belongs_to_it(act: Act, kind: str) -> None:
    check(act, Sought())
    assert act.kind == kind


@pytest.mark.parametrize(
    ("act", "sought", "named"),
    [
        (Act(verify=True, keys=True), Sought(), "--keys"),
        (Act(rotate_key=True, revoke_key=""), Sought(), "--revoke-key"),
        (Act(full=True), Sought(), "--full"),
        (Act(strict=True, keys=True), Sought(), "--strict"),
        (Act(reason="why"), Sought(), "--reason"),
        (Act(verify=True, reason="why"), Sought(), "--reason"),
        (Act(new_key="new.pem"), Sought(), "--new-key"),
        (Act(trusted_until=0), Sought(), "--trusted-until"),
        (Act(new=True), Sought(), "--new"),
        (Act(against="copy"), Sought(), "--against"),
        (Act(push="https://store.example", verify=True), Sought(), "--push"),
        (Act(witness=True, keys=True), Sought(), "--witness"),
        (Act(), Sought(csv=True), "--csv"),
        (Act(), Sought(out="audit.csv"), "--out"),
    ],
)
def test_what_does_not_go_together_is_named(act: Act, sought: Sought, named: str) -> None:
    with pytest.raises(UsageError) as refused:
        check(act, sought)
    assert named in refused.value.message


def test_what_was_asked_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Act().verify = True  # type: ignore[misc]
