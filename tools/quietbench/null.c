/* null: an HTTP/1.1 server that does nothing but answer, the least that a load tool
 * can be measured against. One thread waits in epoll; every empty line it reads is
 * the end of a request (a GET without a body, on a kept connection) and gets the same
 * small 200. Requests may come in pieces or many at once.
 *
 * Its address is the first line of its standard error, as JSON; SIGTERM ends it, and
 * the last line then says how many requests it answered. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nok\n"
#define BURST 256 /* replies per write */

static volatile sig_atomic_t ended;
static void end(int sig) { (void)sig; ended = 1; }

static void must(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

/* answer writes n replies; 0 when the client took too little or is gone. */
static int answer(int fd, long n)
{
	static char replies[BURST * (sizeof REPLY - 1)];
	const size_t one = sizeof REPLY - 1;
	if (!replies[0])
		for (int i = 0; i < BURST; i++)
			memcpy(replies + i * one, REPLY, one);
	while (n > 0) {
		long now = n < BURST ? n : BURST;
		if (send(fd, replies, now * one, MSG_NOSIGNAL) != (ssize_t)(now * one))
			return 0;
		n -= now;
	}
	return 1;
}

int main(void)
{
	struct rlimit files;
	must(getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
	files.rlim_cur = files.rlim_max;
	must(setrlimit(RLIMIT_NOFILE, &files) == 0, "setrlimit");

	/* SIGTERM comes only while epoll_pwait sleeps, so none is missed. */
	sigset_t held, open;
	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGINT);
	must(sigprocmask(SIG_BLOCK, &held, &open) == 0, "sigprocmask");
	struct sigaction action = {.sa_handler = end};
	must(sigaction(SIGTERM, &action, NULL) == 0 && sigaction(SIGINT, &action, NULL) == 0, "sigaction");
	prctl(PR_SET_PDEATHSIG, SIGTERM);

	int door = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	must(door >= 0, "socket");
	must(bind(door, (struct sockaddr *)&address, size) == 0 && listen(door, 16384) == 0, "listen");
	must(getsockname(door, (struct sockaddr *)&address, &size) == 0, "getsockname");
	fprintf(stderr, "{\"addr\":\"127.0.0.1:%d\"}\n", ntohs(address.sin_port));

	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event events[128], watch = {.events = EPOLLIN, .data.fd = door};
	must(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, door, &watch) == 0, "epoll");

	/* seen[fd]: how much of \r\n\r\n the connection has sent last. */
	unsigned char *seen = calloc(files.rlim_cur, 1);
	must(seen != NULL, "calloc");
	static char buf[65536];
	long answered = 0, broken = 0;
	while (!ended) {
		int count = epoll_pwait(epoll, events, 128, -1, &open);
		must(count >= 0 || errno == EINTR, "epoll_pwait");
		for (int i = 0; i < count; i++) {
			int fd = events[i].data.fd;
			if (fd == door) {
				while ((fd = accept4(door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
					setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
					watch.data.fd = fd;
					must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &watch) == 0, "epoll_ctl");
					seen[fd] = 0;
				}
				continue;
			}
			ssize_t got = recv(fd, buf, sizeof buf, 0);
			if (got < 0 && errno == EAGAIN)
				continue;
			if (got <= 0) {
				close(fd);
				continue;
			}
			long asked = 0;
			unsigned char s = seen[fd];
			for (ssize_t j = 0; j < got; j++) {
				char want = s & 1 ? '\n' : '\r';
				s = buf[j] == want ? s + 1 : buf[j] == '\r';
				if (s == 4) {
					asked++;
					s = 0;
				}
			}
			seen[fd] = s;
			if (answer(fd, asked)) {
				answered += asked;
			} else {
				broken++;
				close(fd);
			}
		}
	}
	fprintf(stderr, "answered=%ld broken=%ld\n", answered, broken);
	return 0;
}
