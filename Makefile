# Short names for ./bootstrap; `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help profile test lint check ci readme clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

profile: ## both demo models on the virtual board
	@./bootstrap profile

test: ## all tests
	@./bootstrap test

lint: ## style, types, shell scripts
	@./bootstrap lint

check: lint test ## what a change must pass

ci: ## everything, from nothing, as on a new machine
	@.ci/run

readme: ## run the commands whose output README.md shows, and write it there
	@python3 tools/refresh_readme.py

clean: ## remove environments and caches
	rm -rf .venv-[0-9]* .venv-ci build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
