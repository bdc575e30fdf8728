#!/usr/bin/env bash
# axum with tower's ConcurrencyLimitLayer(2) runs forty requests at once: axum::serve(listener, app) makes a limit a connection.
#
# tower 0.5.3 documents the layer as a limit of the concurrent requests that the underlying service can handle, and axum 0.8.9
# documents Router::layer as one for all routes. axum puts the layer round each method of each route when the router gets its
# state, which axum::serve(listener, app) does anew for each connection. With HTTP/1 a connection has one request at a time,
# so that the limit never limits. By app.into_make_service() the state is given once, and the limit holds, for each method
# of each path by itself: two paths with three methods and the fallback run fourteen. GlobalConcurrencyLimitLayer is right in
# both. One would expect two, or at least one meaning for both ways to serve. MethodRouter::layer's documentation shows this
# layer, with 64, as its example; tokio-rs/axum#2582 (closed) said that the example limits nothing, and #2634 (open)
# says it of RateLimitLayer.
#
# Seen on 2026-11-29 (axum 0.8.9, tower 0.5.3, cargo 1.95.0), the most at once of 40 requests, a connection each, limit 2:
#   ConcurrencyLimitLayer, serve(app):                     GET of one path 40, all routes 40
#   ConcurrencyLimitLayer, serve(app.into_make_service()): GET of one path 2, all routes 14
#   GlobalConcurrencyLimitLayer, serve(app):               GET of one path 2, all routes 2
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir src
cat >Cargo.toml <<'END'
[package]
name = "finding"
version = "0.0.0"
edition = "2021"

[dependencies]
axum = { version = "=0.8.9", default-features = false, features = ["http1", "tokio"] }
tokio = { version = "=1.54.1", features = ["rt", "time", "macros", "net", "io-util"] }
tower = { version = "=0.5.3", features = ["limit"] }
END
cat >src/main.rs <<'END'
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use axum::routing::get;
use axum::Router;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::limit::{ConcurrencyLimitLayer, GlobalConcurrencyLimitLayer};

static RUNNING: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

async fn work() {
    MOST.fetch_max(RUNNING.fetch_add(1, SeqCst) + 1, SeqCst);
    tokio::time::sleep(Duration::from_millis(300)).await;
    RUNNING.fetch_sub(1, SeqCst);
}

fn routes() -> Router {
    let all = || get(work).post(work).put(work);
    Router::new().route("/orders", all()).route("/items", all()).fallback(work)
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn ask(address: SocketAddr, line: &'static str) {
    let mut connection = TcpStream::connect(address).await.unwrap();
    let request = format!("{line} HTTP/1.1\r\nHost: local\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    connection.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
}

/// most returns how many handlers ran at once, of forty requests on a connection each.
async fn most(address: SocketAddr, lines: &[&'static str]) -> usize {
    MOST.store(0, SeqCst);
    let clients: Vec<_> = (0..40).map(|i| tokio::spawn(ask(address, lines[i % lines.len()]))).collect();
    for client in clients {
        client.await.unwrap();
    }
    MOST.load(SeqCst)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (listener, plain) = listen().await;
    tokio::spawn(async { axum::serve(listener, routes().layer(ConcurrencyLimitLayer::new(2))).await });
    let (listener, made) = listen().await;
    tokio::spawn(async {
        axum::serve(listener, routes().layer(ConcurrencyLimitLayer::new(2)).into_make_service()).await
    });
    let (listener, global) = listen().await;
    tokio::spawn(async { axum::serve(listener, routes().layer(GlobalConcurrencyLimitLayer::new(2))).await });

    let one = ["GET /orders"];
    let all = ["GET /orders", "POST /orders", "PUT /orders", "GET /items", "POST /items", "PUT /items", "GET /none"];
    for (name, address) in [
        ("ConcurrencyLimitLayer, serve(app):", plain),
        ("ConcurrencyLimitLayer, serve(app.into_make_service()):", made),
        ("GlobalConcurrencyLimitLayer, serve(app):", global),
    ] {
        println!("{name:54} GET of one path {}, all routes {}", most(address, &one).await, most(address, &all).await);
    }
}
END
cargo --version
got=$(cargo run -q)
echo "$got"
diff <(echo "$got") - <<'END'
ConcurrencyLimitLayer, serve(app):                     GET of one path 40, all routes 40
ConcurrencyLimitLayer, serve(app.into_make_service()): GET of one path 2, all routes 14
GlobalConcurrencyLimitLayer, serve(app):               GET of one path 2, all routes 2
END
