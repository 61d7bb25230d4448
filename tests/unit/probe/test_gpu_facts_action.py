"""The action plugin in a real ansible-playbook: one run over nodes of every kind, judged by the spool."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from gpu_probe import frame
from node_double import CHECKOUT, a_card, a_root, imported
from playbook_runs import documents, run_task, script, simulated, sweep


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """One sweep over a sound node, odd nodes and hostile nodes."""
    where = tmp_path_factory.mktemp("fleet")
    claim = {
        "schema": "probe/1",
        "simulated": False,
        "probe": {"version": "\x1b[2J"},
        "node": "sound",
        "observed_at": "1999-01-01T00:00:00Z",
        "host": {"claimed_hostname": "sound"},
        "cards": [],
    }
    (where / "claim").write_bytes(frame.encode(claim))
    python = shutil.which("python3")
    stand_ins = {
        "noisy": f'echo "*** authorised use only ***"; echo nonsense >&2; {python} "$@"; echo bye',
        "garbage": "printf 'no \\033[31manswer\\n' >&2; echo 'nothing of use'; exit 3",
        "flood": "head -c 50000000 /dev/zero | tr '\\0' 'x'",
        "claims": f"cat {where / 'claim'}",
        "hung": f"echo $$ > {where / 'hung.pid'}; exec sleep 3600",
        "aged": "echo MUSTER-NO-PYTHON 3.6.8 >&2; exit 127",
    }
    hosts = {
        name: {"ansible_python_interpreter": script(where / f"{name}.sh", body)}
        for name, body in stand_ins.items()
    }
    hosts["hung"].update(muster_timeout=5, muster_node_deadline=4)
    hosts["sound"] = simulated(where / "sound", a_card(0), a_card(1, faults={"lost": True}))
    hosts["sound"].update(muster_expected_cards=2, muster_pool="train", muster_non_production="yes")
    hosts["noisy"].update(simulated(where / "noisy", a_card(0)))
    hosts["by_file"] = {**simulated(where / "by_file", a_card(0)), "ansible_connection": "by_file"}
    hosts["cut_off"] = {"ansible_connection": "no_route"}
    return where, sweep(where, hosts, "-v")


def test_a_sound_node_leaves_its_cards_in_the_spool(fleet: tuple[Path, Any]) -> None:
    document = documents(fleet[0] / "spool")["sound"]
    assert (document.reach, document.simulated, document.reader.name) == ("ok", True, "probe")
    assert [card.read.outcome for card in document.cards] == ["ok", "lost"]
    assert (document.expected_cards, document.pool, document.non_production) == (2, "train", True)
    assert document.host.claimed_hostname == "somebody"
    assert document.cards[0].identity.serial == "0322621001234"


def test_a_node_of_which_the_inventory_says_nothing_is_in_production(fleet: tuple[Path, Any]) -> None:
    found = documents(fleet[0] / "spool")
    assert (found["noisy"].expected_cards, found["noisy"].pool) == (None, None)
    assert found["noisy"].non_production is found["garbage"].non_production is False


def test_only_nodes_whose_log_was_read_are_noted_as_read(fleet: tuple[Path, Any]) -> None:
    noted = {path.name: float(path.read_text()) for path in (fleet[0] / "spool/last_read").iterdir()}
    assert set(noted) == {"sound", "noisy", "by_file"}  # «claims» answered without a log
    observed = datetime.fromisoformat(documents(fleet[0] / "spool")["sound"].observed_at)
    assert abs(noted["sound"] - observed.timestamp()) < 0.01


def test_every_node_that_was_asked_leaves_one_document(fleet: tuple[Path, Any]) -> None:
    reached = {node: document.reach for node, document in documents(fleet[0] / "spool").items()}
    assert reached == {
        "sound": "ok",
        "noisy": "ok",
        "by_file": "ok",
        "claims": "ok",
        "garbage": "unreadable",
        "flood": "unreadable",
        "hung": "timed_out",
        "aged": "no_python",
        "cut_off": "unreachable",
    }
    assert len(list((fleet[0] / "spool/incoming").iterdir())) == len(reached)


def test_ansible_counts_what_was_not_read_and_prints_no_traceback(fleet: tuple[Path, Any]) -> None:
    done = fleet[1]
    recap = done.stdout.split("PLAY RECAP", 1)[1]
    counted = {line.split()[0]: " ".join(line.split()[2:]) for line in recap.splitlines()[1:] if ":" in line}
    for node in ("sound", "noisy", "by_file", "claims"):
        assert counted[node].startswith("ok=1 changed=0 unreachable=0 failed=0")
    for node in ("garbage", "flood", "hung", "aged"):
        assert "unreachable=0 failed=1" in counted[node]
    assert "unreachable=1 failed=0" in counted["cut_off"]
    assert "Traceback" not in done.stdout + done.stderr


def test_what_could_not_be_read_says_why_in_harmless_words(fleet: tuple[Path, Any]) -> None:
    details = {node: document.reach_detail for node, document in documents(fleet[0] / "spool").items()}
    assert details["garbage"].startswith("the node's output holds no answer (exit status 3); it said: no ")
    assert details["hung"] == "no answer within 5 s"
    assert details["aged"] == "the node's newest Python is 3.6.8; the probe needs 3.8 or later"
    assert "No route to host" in details["cut_off"]
    assert "\x1b" not in "".join(details.values())


def test_a_node_that_claims_another_name_and_time_gets_its_own(fleet: tuple[Path, Any]) -> None:
    document = documents(fleet[0] / "spool")["claims"]
    assert document.host.claimed_hostname == "sound"
    assert not document.observed_at.startswith("1999")
    assert "\x1b" not in document.reader.version


def test_what_hung_on_the_way_to_a_node_is_ended(fleet: tuple[Path, Any]) -> None:
    pid = int((fleet[0] / "hung.pid").read_text())
    assert (
        not Path(f"/proc/{pid}/cmdline").exists() or b"3600" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    )


def test_a_connection_that_cannot_feed_stdin_leaves_no_file_on_the_node(fleet: tuple[Path, Any]) -> None:
    assert [path for path in (fleet[0] / "remote").rglob("*") if path.is_file()] == []


def test_the_spool_file_is_named_in_the_result(fleet: tuple[Path, Any]) -> None:
    line = next(line for line in fleet[1].stdout.splitlines() if line.startswith("ok: [sound]"))
    result = json.loads(line.split("=>", 1)[1])
    assert (result["cards"], result["reach"], result["changed"]) == (2, "ok", False)
    assert Path(result["spool_file"]).is_file()
    assert "facts" not in result


def test_check_mode_reads_as_well(tmp_path: Path) -> None:
    options = {"spool": str(tmp_path / "spool"), "root": str(tmp_path), "return_facts": True}
    done = run_task(tmp_path, {"muster.gpu.gpu_facts": options}, "--check")
    assert done.returncode == 0, done.stdout
    assert documents(tmp_path / "spool")["one"].reach == "ok"
    assert '"facts": {' in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"card_deadlines": 3}, "gpu_facts has no option card_deadlines. Did you mean card_deadline_s?"),
        ({"zzz": 3}, "gpu_facts has no option zzz. It knows: card_deadline_s, "),
        ({"deadline_s": "soon"}, "gpu_facts: deadline_s must be a number, not 'soon'."),
        ({"log_lines_max": -1}, "gpu_facts: log_lines_max must be at least 0, not -1."),
        (
            {"deadline_s": 60, "timeout_s": 60},
            "gpu_facts: timeout_s (muster_timeout, 60) must be longer than deadline_s (muster_node",
        ),
        ({"timeout_s": 20}, "gpu_facts: timeout_s (muster_timeout, 20) must be longer than deadline_s "),
    ],
)
def test_an_option_that_is_wrong_is_refused_with_the_nearest_right_name(
    options: dict[str, Any], said: str
) -> None:
    arguments = imported("gpu_facts_arguments", CHECKOUT / "plugins/plugin_utils/arguments.py")
    with pytest.raises(ValueError, match="gpu_facts") as caught:
        arguments.checked(options)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("options", "timeout_s"),
    [({}, 60), ({"deadline_s": 90.5}, 121), ({"timeout_s": 31}, 31), ({"timeout_s": 0}, 0)],
)
def test_a_node_is_given_up_only_after_its_own_deadline(options: dict[str, Any], timeout_s: int) -> None:
    arguments = imported("gpu_facts_arguments", CHECKOUT / "plugins/plugin_utils/arguments.py")
    assert arguments.checked(options)["timeout_s"] == timeout_s


def test_a_refusal_reaches_the_user_and_writes_nothing(tmp_path: Path) -> None:
    done = run_task(tmp_path, {"muster.gpu.gpu_facts": {"spol": str(tmp_path / "spool")}})
    assert done.returncode == 2
    assert "gpu_facts has no option spol. Did you mean spool?" in done.stdout
    assert not (tmp_path / "spool").exists()


def test_a_delegated_task_is_refused_because_it_would_read_another_node(tmp_path: Path) -> None:
    task = {"muster.gpu.gpu_facts": {"spool": str(tmp_path / "spool")}, "delegate_to": "elsewhere"}
    done = run_task(tmp_path, task)
    assert "gpu_facts cannot be delegated" in done.stdout
    assert not (tmp_path / "spool").exists()


def test_the_timeout_of_the_task_is_recorded_before_ansible_fails_it(tmp_path: Path) -> None:
    task = {"muster.gpu.gpu_facts": {"spool": str(tmp_path / "spool")}, "timeout": 5}
    hung = script(tmp_path / "hung.sh", "exec sleep 30")
    done = run_task(tmp_path, task, ansible_python_interpreter=hung)
    assert done.returncode == 2
    document = documents(tmp_path / "spool")["one"]
    assert (document.reach, document.reach_detail) == (
        "timed_out",
        "no answer within the task's timeout of 5 s",
    )


def test_a_spool_that_cannot_be_written_fails_the_task_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_task(
        tmp_path, {"muster.gpu.gpu_facts": {"spool": str(tmp_path / "file/spool"), "root": "/nowhere"}}
    )
    assert done.returncode == 2
    assert "could not be written to the spool" in done.stdout
    assert "Not a directory" in done.stdout


@pytest.mark.root
@pytest.mark.parametrize("method", ["su", *(["sudo"] if shutil.which("sudo") else [])])
def test_become_reads_as_the_other_user(tmp_path: Path, public_directory: Path, method: str) -> None:
    """sudo is fed the probe on its stdin; su wants a terminal and gets it by file."""
    task = {
        "muster.gpu.gpu_facts": {"spool": str(tmp_path / "spool"), "root": str(tmp_path)},
        "become": True,
        "become_user": "nobody",
        "become_method": method,
        **({"become_flags": "-s /bin/sh"} if method == "su" else {}),
    }
    teller = script(public_directory / "teller.sh", "id -un >&2; exit 4")
    done = run_task(tmp_path, task, ansible_python_interpreter=teller)
    assert done.returncode == 2
    detail = documents(tmp_path / "spool")["one"].reach_detail
    assert detail == "the node's output holds no answer (exit status 4); it said: nobody"


def test_a_node_that_refuses_the_other_user_leaves_a_document_too(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    task = {"muster.gpu.gpu_facts": {"spool": str(spool)}, "become": True, "become_user": "no-such-user"}
    done = run_task(tmp_path, {**task, "become_method": "su"})
    assert done.returncode == 2
    document = documents(spool)["one"]
    assert document.reach == "unreadable"
    assert "becom" in document.reach_detail, "in Ansible's own words, which differ for root and others"


def test_installed_as_a_collection_it_needs_nothing_of_this_checkout(tmp_path: Path) -> None:
    home = tmp_path / "collections/ansible_collections/muster/gpu"
    home.mkdir(parents=True)
    shutil.copy(CHECKOUT / "galaxy.yml", home)
    for part in ("plugins", "playbooks", "meta"):
        shutil.copytree(CHECKOUT / part, home / part, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "ansible.cfg").write_text("[defaults]\n")
    done = sweep(
        tmp_path,
        {"one": {"muster_probe_root": str(tmp_path)}},
        playbook="muster.gpu.sweep",
        ANSIBLE_CONFIG=str(tmp_path / "ansible.cfg"),
        ANSIBLE_COLLECTIONS_PATH=str(tmp_path / "collections"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert documents(tmp_path / "spool")["one"].reach == "ok"


def test_the_plugins_import_nothing_of_the_program() -> None:
    sources = [path for path in (CHECKOUT / "plugins").rglob("*.py") if "__pycache__" not in path.parts]
    assert len(sources) > 15
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.split(".")[0] == "lifecycle"], path


def test_the_documented_options_are_the_real_ones_with_their_defaults() -> None:
    module = imported("gpu_facts_documentation", CHECKOUT / "plugins/modules/gpu_facts.py")
    arguments = imported("gpu_facts_arguments", CHECKOUT / "plugins/plugin_utils/arguments.py")
    options = yaml.safe_load(module.DOCUMENTATION)["options"]
    assert {name: option.get("default") for name, option in options.items()} == {
        name: default for name, (_, default, _, _) in arguments.SPEC.items()
    }
    yaml.safe_load(module.EXAMPLES)
    yaml.safe_load(module.RETURN)


def test_every_variable_that_reaches_an_option_is_in_the_playbooks_man_page() -> None:
    text = (CHECKOUT / "playbooks/sweep.yml").read_text()
    head = [line for line in text.splitlines() if line.startswith("#")]
    arguments = imported("gpu_facts_arguments", CHECKOUT / "plugins/plugin_utils/arguments.py")
    assert set(arguments.VARIABLES) == set(arguments.SPEC) - {"return_facts"}
    for variable in ("muster_hosts", *arguments.VARIABLES.values()):
        assert variable in " ".join(head).split()


def test_a_variable_that_is_a_template_is_resolved_and_an_option_of_the_task_wins(tmp_path: Path) -> None:
    task = {"muster.gpu.gpu_facts": {"root": str(a_root(tmp_path / "root"))}}
    host = {"base": str(tmp_path), "muster_spool": "{{ base }}/by_template", "muster_probe_root": "/nowhere"}
    done = run_task(tmp_path, task, **host)
    assert done.returncode == 0, done.stdout
    assert documents(tmp_path / "by_template")["one"].host.claimed_hostname == "somebody"
