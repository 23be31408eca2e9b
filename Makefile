# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
EXTRAS := spark,torch,mlflow,demo,dev

NATIVE_SOURCES := $(shell find native -name '*.cc' -o -name '*.h' -o -name 'CMakeLists.txt' -o -name '*.json')
SANITIZERS     := asan tsan

.PHONY: help setup demo test lint format native-test pytest bench faults clean
help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/'

setup: $(VENV)/.installed ## make the virtual environment and build the native module in it

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt $(NATIVE_SOURCES) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

demo: setup ## train on the New York flights of 2013
	$(BIN)/sparkdl-ring demo $(DEMO_ARGS)

test: lint native-test fuzz pytest ## everything that CI runs

lint: setup ## formatting, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	find native -name '*.cc' -o -name '*.h' | xargs $(BIN)/clang-format --dry-run -Werror

format: setup ## rewrite sources to the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find native -name '*.cc' -o -name '*.h' | xargs $(BIN)/clang-format -i

DOCTEST := $(firstword $(wildcard /usr/include/doctest/doctest.h /usr/local/include/doctest/doctest.h /opt/homebrew/include/doctest/doctest.h))
ROOT_DO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: doctest
doctest:
ifeq ($(DOCTEST),)
	$(ROOT_DO) apt-get update -qq
	$(ROOT_DO) apt-get install -y -qq doctest-dev
endif

# cmake and ninja come with the environment; a machine may have neither.
TOOLS := PATH="$(abspath $(BIN)):$$PATH"

native-test: $(addprefix native-test-,$(SANITIZERS)) ## C++ tests under ASan+UBSan and TSan

native-test-%: setup doctest
	cd native && $(TOOLS) cmake --preset $*
	cd native && $(TOOLS) cmake --build --preset $*
	cd native && $(TOOLS) ctest --preset $*

# libFuzzer comes with clang; without it the same targets run on random changes of their corpus.
FUZZ_SECONDS ?= 20
FUZZ_TARGETS := $(basename $(notdir $(wildcard native/fuzz/*_fuzz.cc)))
FIND_CLANG   := command -v clang++ || command -v clang++-14

.PHONY: clang fuzz
clang:
	@{ $(FIND_CLANG); } >/dev/null || { $(ROOT_DO) apt-get update -qq && \
	  $(ROOT_DO) apt-get install -y -qq --no-install-recommends clang-14 libclang-rt-14-dev; } || true

fuzz: setup clang ## fuzz handshake, frames and addresses, FUZZ_SECONDS each
	cd native && CXX="$$($(FIND_CLANG) || echo c++)" $(TOOLS) cmake --preset fuzz
	cd native && $(TOOLS) cmake --build --preset fuzz
	printf '%s\n' $(FUZZ_TARGETS) | xargs -P 2 -I TARGET sh -c 'mkdir -p build/fuzz/found/TARGET && \
	  build/fuzz/fuzz/TARGET -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -verbosity=0 -print_final_stats=1 \
	  -artifact_prefix=build/fuzz/TARGET- build/fuzz/found/TARGET native/fuzz/corpus/TARGET || exit 255'

pytest: setup ## Python tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

faults: setup ## 1,000 random faults (FAULTS_ARGS="--seed 7" plays others)
	$(BIN)/python tests/faults/run_faults.py $(FAULTS_ARGS)

bench: setup ## the ring beside gloo and MPI: table, bench.csv, bench.svg
	$(BIN)/sparkdl-ring bench allreduce --gates --csv bench.csv --picture bench.svg $(BENCH_ARGS)
	$(BIN)/sparkdl-ring bench ddp

.PHONY: gpu-check
gpu-check: setup ## check the device collectives on one GPU and print figures; says why where there is none
	$(BIN)/python tests/gpu/check.py

clean: ## remove what the build and the tests made
	rm -rf $(VENV) build dist .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
