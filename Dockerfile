# Builds gitops-agent as a static binary and ships it alone, with certificate authorities, as a user without rights.
#   docker build --build-arg VERSION=0.1.0 -t gitops-agent .
# The last stage also describes the image that packaging/build makes without Docker: packaging/tools/image executes it, and refuses what it does not know.
# In a container the config has to say listen: 0.0.0.0:9746, since the default listens on the container's own loopback alone. docs/deployment.md has examples.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X main.version=$VERSION" -o /out/gitops-agent ./cmd/gitops-agent
RUN install -d -m 0700 /out/state

FROM scratch
ARG VERSION
ARG COMMIT
ARG CREATED
LABEL org.opencontainers.image.title="gitops-agent"
LABEL org.opencontainers.image.description="GitOps agent for Proxmox VE"
LABEL org.opencontainers.image.licenses="Apache-2.0"
LABEL org.opencontainers.image.version="$VERSION"
LABEL org.opencontainers.image.revision="$COMMIT"
LABEL org.opencontainers.image.created="$CREATED"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY packaging/image/passwd packaging/image/group /etc/
COPY --from=build --chown=65532:65532 /out/state /var/lib/gitops-agent
COPY --from=build /out/gitops-agent /usr/bin/gitops-agent
USER 65532:65532
# config check and verify make temporary directories. There is no /tmp, and only the volume can be written if the root is read-only.
ENV TMPDIR=/var/lib/gitops-agent
WORKDIR /var/lib/gitops-agent
VOLUME /var/lib/gitops-agent
EXPOSE 9746
ENTRYPOINT ["/usr/bin/gitops-agent"]
CMD ["run"]
