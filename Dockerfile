# sweetspot in a container, built from this checkout alone:
#   docker build -t sweetspot .
#   docker run --rm -v "$PWD:/work" sweetspot tune --model my.json --data DIR
FROM debian:bookworm AS build
RUN apt-get -qq update && apt-get -qq install --yes --no-install-recommends git make ca-certificates
COPY . /source
WORKDIR /source
RUN make package

FROM debian:bookworm-slim
COPY --from=build /source/build/release/packages/sweetspot_*.deb /tmp/
RUN apt-get -qq update && apt-get -qq install --yes --no-install-recommends /tmp/sweetspot_*.deb python3 \
    && rm -rf /tmp/*.deb /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["sweetspot"]
CMD ["--help"]
