# Thin fronts over scripts/setup, the CMake presets and the program itself.
.DEFAULT_GOAL := help
.PHONY: help run test slow bench format clang asan tsan sanitize fuzz build data everything installable install package

sweetspot := build/release/sweetspot

help: ## this list
	@awk -F ':.*## ' '/^[a-z ]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

run: build data ## set up, build, fetch MNIST, find the batch size of the paper's CNN
	$(sweetspot) tune

# A first build on a machine without a GPU: machine code for one would take half of the time, and
# here nothing would run it. What is installed or packaged has it.
settings := $(if $(wildcard /dev/nvidiactl build/release/CMakeCache.txt),,-DSWEETSPOT_CUDA_PTX=ON)

build: ## set up and build the program
	scripts/setup
	cmake --preset release $(settings)
	cmake --build --preset release --target sweetspot

data: build
	$(sweetspot) data fetch mnist

# One build for program and tests: no core waits for the program to be linked.
everything:
	scripts/setup --test
	cmake --preset release $(settings)
	cmake --build --preset release
	$(sweetspot) data fetch mnist

test: everything ## set up, build, run every test
	ctest --preset release -LE slow

slow: everything ## the tests of the slow label, which take long
	ctest --preset release -L slow

installable:
	scripts/setup
	cmake --preset release -DSWEETSPOT_CUDA_PTX=OFF
	cmake --build --preset release --target installable

PREFIX ?= /usr/local
install: installable ## build and install below PREFIX [/usr/local]; honours DESTDIR
	cmake --install build/release --prefix $(PREFIX)

package: installable ## Debian packages, in build/release/packages
	scripts/setup --package
	cd build/release && cpack

bench: ## against PyTorch on this machine
	scripts/setup --bench
	cmake --preset release
	cmake --build --preset release
	$(sweetspot) data fetch mnist
	bench/run

format: ## clang-format over all sources
	scripts/setup --format
	git ls-files --cached --others --exclude-standard '*.h' '*.cpp' | xargs clang-format -i

clang: ## build with Clang 16, where a warning is an error, and run the tests
	scripts/setup --test --clang
	cmake --preset clang -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
	cmake --build --preset clang
	build/clang/sweetspot data fetch mnist
	ctest --preset clang -LE 'slow|accuracy'

# Neither what needs a GPU or a browser, nor the longest tests of the program as a whole.
# Twice if need be: what samples by the clock may come too late in a program several times as slow.
sanitize: ## the tests of what is outside the engines under asan, within minutes
	scripts/setup --test
	cmake --preset sanitize
	cmake --build --preset sanitize
	ctest --preset sanitize --repeat until-pass:2 -LE 'slow|accuracy|gpu|page' \
	  -E '_NOT_BUILT|^(engine|python_|examples|programs|readme|bench.networks|api.installed)'

asan tsan: ## the tests under a sanitizer: addresses and undefined behaviour, or threads
	scripts/setup --test
	cmake --preset $@
	cmake --build --preset $@
	ctest --preset $@ -LE 'slow|accuracy'

fuzz: ## the slow label: the fuzzers, for a bounded time
	scripts/setup --fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz
	ctest --test-dir build/fuzz --output-on-failure --no-tests=error -L slow
