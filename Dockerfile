# The image of Towline on a base without a shell: the program towline, the program of the status page, and kubectl-towline for the
# test of the chart.
#
#   docker buildx build --platform linux/amd64,linux/arm64 \
#     --build-arg VERSION=v0.1.0 --tag registry.example/towline:v0.1.0 --push .
#
# The targets maestro and source build other images, with only towline-maestro or towline-source: see docs/maestro.md and
# docs/sources.md.
#
# The builder runs on the platform of the build machine. Go compiles for the
# other platforms without emulation.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm@sha256:b305420a68d0f229d91eb3b3ed9e519fcf2cf5461da4bef997bf927e8c0bfd2b AS build
WORKDIR /src

# Dependencies first, because dependencies change less often than the code.
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod \
    go mod download

COPY cmd cmd
COPY controllers controllers
COPY pkg pkg
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
RUN --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/ ./cmd/towline ./cmd/towline-ui ./cmd/kubectl-towline

FROM build AS build-maestro
RUN --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go -C cmd/towline-maestro build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/ .

FROM gcr.io/distroless/static-debian12:nonroot@sha256:d093aa3e30dbadd3efe1310db061a14da60299baff8450a17fe0ccc514a16639 AS maestro
LABEL org.opencontainers.image.title="towline-maestro" \
      org.opencontainers.image.description="The Kubernetes API of ManifestWorks that Maestro keeps" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build-maestro /out/towline-maestro /
USER 65532:65532
ENTRYPOINT ["/towline-maestro"]

FROM build AS build-source
RUN --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go -C cmd/towline-source build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/ .

# towline-source runs git, and git runs ssh. Both need a C library and a shell, and ssh needs an entry for the user.
FROM debian:bookworm-slim AS source
LABEL org.opencontainers.image.title="towline-source" \
      org.opencontainers.image.description="Git repositories through the hub, for clusters without a route to Git" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git openssh-client \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 65532 --no-create-home --shell /usr/sbin/nologin nonroot
COPY --from=build-source /out/towline-source /
USER 65532:65532
ENTRYPOINT ["/towline-source"]

FROM gcr.io/distroless/static-debian12:nonroot@sha256:d093aa3e30dbadd3efe1310db061a14da60299baff8450a17fe0ccc514a16639
LABEL org.opencontainers.image.title="Towline" \
      org.opencontainers.image.description="The Argo CD pull model for Open Cluster Management" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/towline /out/towline-ui /out/kubectl-towline /
# Numbers, so that Kubernetes can see that the user is not root.
USER 65532:65532
ENTRYPOINT ["/towline"]
