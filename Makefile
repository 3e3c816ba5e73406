# Everything there is to do with a checkout. What a target needs it installs itself, into .venv; what only the system's
# package manager can install is looked for first, and named if it is missing.

PYTHON ?= python3
VENV ?= .venv
MINUTES ?= 10
BENCH ?= all
# A worker more than cores, as some always wait for a server or a child; each with whole files: a file may share a server
# or a browser. tests/conftest.py has their order.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
PYTEST ?= -n $(WORKERS) --dist loadfile --no-loadscope-reorder

ifeq ($(origin CXX),default)
CXX := $(firstword $(foreach name,c++ g++ clang++,$(shell command -v $(name) 2>/dev/null)) c++)
endif
export CXX
BIN := $(VENV)/bin
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
SOURCES := pyproject.toml CMakeLists.txt $(wildcard $(foreach depth,* */* */*/*,native/$(depth).cpp native/$(depth).hpp))
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo .demo-database .demo-examples test test-full fuzz bench lint docs reproduce site wheels
.PHONY: release-check clean

help:
	@echo 'make demo        record a database at a level that holds and at one that does not, and check both'
	@echo 'make test        the tests (five to six minutes, on two cores)'
	@echo 'make test-full   all tests, the long ones too'
	@echo 'make fuzz        random histories, every opinion compared (MINUTES=$(MINUTES)); then damaged files,'
	@echo '                 a tenth of that time for each format'
	@echo 'make bench       measure (BENCH=quick for the quick ones; BENCH="all --list" shows what there is)'
	@echo 'make lint        ruff and mypy'
	@echo 'make docs        write the generated parts of the documentation again'
	@echo "make reproduce   the paper's evaluation again, into docs/evaluation.md (under two hours; QUICK=1: ten minutes;"
	@echo '                 ONLY=ablation, LIMIT=600, CHECKERS=FILE)'
	@echo 'make site        the documentation as a site that opens from disk (build/site/index.html)'
	@echo 'make wheels      build the source distribution and the wheels, audit, install and try them (into dist)'
	@echo 'make release-check  lint, compare versions, changelog and tags, then wheels (RELEASE=1: this commit is one)'
	@echo 'make clean       remove all that the targets above have made'

# On a real database, if its wheel can be had here; else on the example files. Fetched with what the build needs, as each
# call of pip takes a second of CPU; where the build was there already, by a call of its own.
demo: export PYTHONDONTWRITEBYTECODE :=
demo: WITH := slatedb>=0.17
demo: $(VENV)/.built
	@$(BIN)/python -c 'import slatedb' 2>/dev/null || $(BIN)/python -m pip install --quiet --no-compile --only-binary :all: '$(WITH)' || true
	@if $(BIN)/python -c 'import boomslang.databases.slatedb' 2>/dev/null; then $(MAKE) --no-print-directory .demo-database; \
	else printf '\n(SlateDB cannot be installed here: recorded examples instead.)\n'; \
	    $(MAKE) --no-print-directory .demo-examples; fi

DEMO := --db slatedb --workload insert-if-none --txns 400

.demo-database:
	@printf '\n=== Clients look whether a range is empty, and insert into it if it is: SlateDB, serializable. ===\n\n'
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	$(BIN)/boomslang run $(DEMO) --db-level 'serializable snapshot' --out "$$folder/strong" --check serializable && \
	printf '\n=== The same at its level snapshot. Is that serializable too? ===\n\n' && \
	{ $(BIN)/boomslang hunt $(DEMO) --db-level snapshot --level serializable --for 25s --out "$$folder/weak"; code=$$?; \
	if [ $$code -ne 1 ]; then echo "expected exit code 1 (a violation), found $$code" >&2; exit 1; fi; }
	@printf '\nBoth answers are as they should be: snapshot isolation lets two clients insert where each saw nothing.\n'
	@printf 'Try a database of yours: $(BIN)/boomslang run --help, or check a trace: $(BIN)/boomslang check --help\n'

.demo-examples:
	@printf '\n=== Two doctors, one after the other: somebody stays on call. ===\n\n'
	@$(BIN)/boomslang check examples/valid.jsonl --level ser,si
	@printf '\n=== Two doctors at the same time: each sees the other, and both go home. ===\n\n'
	@$(BIN)/boomslang check examples/write-skew.jsonl --level ser,si; code=$$?; \
	if [ $$code -ne 1 ]; then echo "expected exit code 1 (invalid), found $$code" >&2; exit 1; fi
	@printf '\nBoth answers are as they should be: the second history is a write skew.\n'
	@printf 'Check one of your own: $(BIN)/boomslang check TRACE --level strongest\n'

# Tests start the program hundreds of times; compiled once, it starts three times as fast wherever Python may not write.
# And pytest compiles all tests its own way, in every worker: what it made it may keep for the next run (7 s of CPU each).
test test-full: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.test
	@$(BIN)/python -m compileall -q src/boomslang tests
	@$(BIN)/python -m pytest -m 'not full' $(PYTEST)

test-full: $(VENV)/.test $(VENV)/.test-full
	@$(BIN)/python -m compileall -q src/boomslang tests
	@$(BIN)/python -m pytest $(PYTEST)

fuzz docs: export PYTHONPATH := tests:benchmarks
fuzz: $(VENV)/.test
	@code=0; \
	$(BIN)/python -m fuzz.traces --minutes $(MINUTES) || code=1; \
	$(BIN)/python -m fuzz.damaged_files --seconds $$(awk 'BEGIN { print 6 * $(MINUTES) }') || code=1; \
	exit $$code

# What is measured is the program, not Python's compiling of it in every process.
bench reproduce: export PYTHONDONTWRITEBYTECODE :=
# Arrow, one of the formats that are loaded, comes with the tests.
bench: $(VENV)/.test
	@$(BIN)/python -m compileall -q src/boomslang benchmarks
	@$(BIN)/python benchmarks/run.py $(BENCH)
	@$(if $(filter --list,$(BENCH)),,$(BIN)/python benchmarks/loading.py \
	    $(if $(filter quick,$(BENCH)),--megabytes 3) $(filter --write,$(BENCH)))

lint: $(VENV)/.lint
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --strict

# All figures take about two hours; what was measured is kept, so that it can be stopped and started again.
reproduce: $(VENV)/.test $(VENV)/.reproduce
	@$(BIN)/python -m compileall -q src/boomslang benchmarks
	@$(BIN)/python benchmarks/reproduce.py $(if $(QUICK),--quick) $(if $(LIMIT),--limit $(LIMIT)) \
	    $(if $(CHECKERS),--checkers $(CHECKERS)) $(foreach name,$(ONLY),--only $(name)) $(if $(FRESH),--fresh)

docs: $(VENV)/.test
	@$(BIN)/python tests/documents/test_docs.py
	@$(BIN)/python -m pages.conformance
	@$(BIN)/python tests/explain/test_stories.py
	@$(BIN)/python tests/explain/test_repeated_values.py

site: $(VENV)/.site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo 'open build/site/index.html'

# For each Python that is here; each step says what it could not try.
wheels: $(VENV)/.release
	@$(BIN)/python release/wheels.py $(WHEELS)

release-check: $(VENV)/.release lint
	@$(BIN)/python release/consistent.py $(if $(RELEASE),--release)
	@$(BIN)/python release/wheels.py $(WHEELS)

clean:
	rm -rf $(VENV) build dist bench-data .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks docs -name __pycache__ -prune -exec rm -rf {} +

# --- set-up: each step leaves a stamp, and is done again when what it was made from has changed

$(VENV)/.made:
	@missing=0; \
	need() { printf 'missing: %s\n' "$$1" >&2; shift; printf '    %s\n' "$$@" >&2; missing=1; }; \
	if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then \
	    need 'Python 3.10 or newer, called $(PYTHON)' 'Debian, Ubuntu: apt install python3' \
	        'Fedora: dnf install python3' 'macOS: brew install python' \
	        'or say where it is: make PYTHON=/path/to/python3.12 ...'; \
	else \
	    $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	        need "Python's venv" 'Debian, Ubuntu: apt install python3-venv'; \
	    $(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || \
	        need 'the headers of Python (Python.h)' 'Debian, Ubuntu: apt install python3-dev' \
	            'Fedora: dnf install python3-devel'; \
	fi; \
	printf '#include <bit>\n#include <concepts>\n#include <span>\nint main() { int a[2]{}; return int(std::span(a).size()) - 2; }\n' \
	    | $(CXX) -std=c++20 -fsyntax-only -x c++ - 2>/dev/null || \
	    need 'a C++20 compiler (tried: $(CXX))' 'Debian, Ubuntu: apt install g++    (version 10 or newer)' \
	        'Fedora: dnf install gcc-c++' 'macOS: xcode-select --install' \
	        'or say which: make CXX=/path/to/g++-12 ...'; \
	exit $$missing
	@$(PYTHON) release/environment.py $(VENV)
	@$(BIN)/python -c 'import pip, sys; sys.exit(int(pip.__version__.split(".")[0]) < 23)' || \
	    $(BIN)/python -m pip install --quiet 'pip>=23'
	@touch $@

# What builds stays in the environment: pip would fetch it anew for each build, and CMake compile all of it again. And no
# bytecode of what is never imported: Python writes it down at the first use.
$(VENV)/.built: $(VENV)/.made $(SOURCES)
	@# Until it was renamed the distribution was called boomslang: both would register the plugin of pytest.
	@if ls -d $(VENV)/lib/python*/site-packages/boomslang-*.dist-info >/dev/null 2>&1; then \
	    $(BIN)/python -m pip uninstall --quiet --yes boomslang; fi
	@echo 'Building Boomslang (a minute or two, the first time) ...'
	@echo '  fetching what it is built with and what it needs'
	@set -- $$(sed -n -e 's/^requires = \[\(.*\)\]$$/\1/p' -e 's/^dependencies = \[\(.*\)\]$$/\1/p' pyproject.toml | tr -d '",'); \
	    $(if $(WITH),$(BIN)/python -m pip install --quiet --no-compile --only-binary slatedb "$$@" '$(WITH)' 2>/dev/null ||) \
	    $(BIN)/python -m pip install --quiet --no-compile "$$@"
	@set -- $$($(BIN)/python -c 'from scikit_build_core.build import get_requires_for_build_editable as wanted; print(*wanted())'); \
	    if [ $$# -gt 0 ]; then $(BIN)/python -m pip install --quiet --no-compile "$$@"; fi
	@$(BIN)/python release/progress.py $(BIN)/python -m pip install --verbose --no-build-isolation --no-compile --no-deps \
	    $(if $(WARNINGS),--config-settings cmake.define.BOOMSLANG_WARNINGS=ON) --editable .
	@touch $@

# Boomslang is there by now, at this very version: these add what the extra asks for.
$(VENV)/.test $(VENV)/.lint $(VENV)/.release $(VENV)/.site $(VENV)/.reproduce: $(VENV)/.%: $(VENV)/.built
	@$(BIN)/python -m pip install --quiet 'boomslang-checker[$*]==$(VERSION)'
	@touch $@

# What is too large for every run: Ray takes 80 MB to fetch and 250 MB of disk. Where there is no wheel of it, its tests are
# skipped, and say so.
$(VENV)/.test-full: $(VENV)/.test
	@$(BIN)/python -m pip install --quiet 'boomslang-checker[test-full]==$(VERSION)' || \
	    echo 'Ray cannot be installed here: its tests will be skipped.'
	@touch $@
