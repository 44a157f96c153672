# syntax=docker/dockerfile:1
# One static binary in an empty image, run by a user without rights.
#
#   docker build --tag dvcompactor .
#   docker run --volume "$PWD/config.yaml:/etc/dvcompactor/config.yaml:ro" --volume dvcompactor:/var/lib/dvcompactor dvcompactor

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# With .git, so that the binary knows its version.
COPY . .
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags='-s -w' -o /out/dvcompactor ./cmd/dvcompactor
# An empty image has no folder to write to.
RUN mkdir -p /out/tmp /out/state

FROM scratch
LABEL org.opencontainers.image.title="dvcompactor" \
      org.opencontainers.image.description="Maintenance of the deletes of Iceberg tables" \
      org.opencontainers.image.source="https://github.com/dvcompactor/dvcompactor" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chown=65532:65532 /out/tmp /tmp
COPY --from=build --chown=65532:65532 /out/state /var/lib/dvcompactor
COPY --from=build /out/dvcompactor /dvcompactor
USER 65532:65532
VOLUME /var/lib/dvcompactor
EXPOSE 9464
HEALTHCHECK --interval=30s --timeout=10s --start-period=1m CMD ["/dvcompactor", "healthcheck"]
ENTRYPOINT ["/dvcompactor"]
CMD ["serve", "--config", "/etc/dvcompactor/config.yaml"]
