"""What lies in deploy/dask: nothing there speaks without TLS, and each file names only what exists."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.loopback import DEPLOY, ROOT

KUBERNETES: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
CLUSTER, WORKERS = (next(part for part in KUBERNETES if part["kind"] == kind) for kind in ("DaskCluster", "Deployment"))
WORKER = WORKERS["spec"]["template"]["spec"]
SCHEDULER = CLUSTER["spec"]["scheduler"]["spec"]
LATER = {"hostUsers", "appArmorProfile"}  # what a pod of Kubernetes 1.21 had not


@pytest.mark.parametrize("script", ["scheduler.sh", "worker.sh"])
@pytest.mark.parametrize("words", [(), ("tls://a:1",), ("tcp://a:1", "folder"), ("a:1", "folder")])
def test_the_scripts_start_nothing_without_tls(script: str, words: tuple[str, ...]) -> None:
    """And say how they are used."""
    done = subprocess.run(
        [DEPLOY / script, *words], capture_output=True, text=True, timeout=30, env={**os.environ, "PYTHON": "/bin/true"}
    )
    assert done.returncode == 2
    assert "usage:" in done.stderr
    assert "tls://" in done.stderr


def test_dasks_configuration_refuses_what_is_not_encrypted() -> None:
    settings = yaml.safe_load((DEPLOY / "dask.yaml").read_text())["distributed"]
    assert settings["comm"]["require-encryption"] is True
    assert settings["comm"]["default-scheme"] == "tls"
    assert (
        settings["scheduler"]["http"]["routes"] == settings["worker"]["http"]["routes"] == ["distributed.http.health"]
    )


@pytest.mark.parametrize("pod", [SCHEDULER, WORKER], ids=["scheduler", "worker"])
def test_kubernetes_runs_the_scripts_over_tls_with_certificates_of_its_own_role(pod: dict[str, Any]) -> None:
    """A worker's pod holds no scheduler's key; neither holds a token of the cluster's."""
    [container] = pod["containers"]
    script, address, folder = container["command"]
    assert (ROOT / Path(script).relative_to("/course")).is_file()
    assert address.startswith("tls://")
    [mount] = container["volumeMounts"]
    [volume] = pod["volumes"]
    assert (mount["mountPath"], mount["name"], mount["readOnly"]) == (folder, volume["name"], True)
    assert volume["secret"]["secretName"] == f"grading-{container['name']}"
    assert pod["automountServiceAccountToken"] is False


def test_what_kubernetes_1_21_did_not_know_is_asked_of_no_operator() -> None:
    """The operator's definition of a cluster holds pods of that version: the rest is left out without a word, or refused."""
    assert not LATER & fields(CLUSTER)
    assert fields(WORKERS) >= LATER  # without them no box holds, and no worker grades


def fields(part: Any) -> set[str]:
    """The names of all fields, at any depth."""
    if isinstance(part, dict):
        return set(part).union(*map(fields, part.values()))
    return set().union(*map(fields, part)) if isinstance(part, list) else set()


def test_the_workers_are_pods_of_the_cluster_and_found_by_its_network_policy() -> None:
    labels = WORKERS["spec"]["template"]["metadata"]["labels"]
    policy = next(part for part in KUBERNETES if part["kind"] == "NetworkPolicy")["spec"]["podSelector"]["matchLabels"]
    assert policy.items() <= labels.items()
    assert WORKERS["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert CLUSTER["spec"]["worker"]["replicas"] == 0


def test_every_file_that_the_readme_names_is_there() -> None:
    text = (DEPLOY / "README.md").read_text()
    named = set(re.findall(r"(?:deploy/dask|tests/cluster)/[\w.-]+\w", text))
    assert len(named) >= 6
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_no_key_lies_there() -> None:
    """Not even an example's."""
    assert [path for path in DEPLOY.iterdir() if "PRIVATE KEY" in path.read_text()] == []
