/* client: the least that an open loop can be, which other load tools are measured
 * against. One thread, raw epoll, never asleep: it sends whatever is due, takes at
 * most 16 events, looks at the clock, and again. The moments at which requests are
 * due (Poisson, or evenly with the seed 0) are drawn before it starts; response times
 * count from them. A request that finds no connection free waits in order, on the clock.
 *
 *   client PORT RATE SECONDS CONNECTIONS SEED
 *
 * It prints one line of key=value, times in microseconds: p50 to max are response
 * times, lag is from the due time to the writing. gap is the longest turn of the loop
 * and queued the requests that found no connection free. Sending ends 10 ms after the
 * schedule's time, so scheduled - sent is what it was too slow for; replies are awaited
 * for two seconds more. Exit code 1: some never came, or were not 200. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static const char request[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
static const char good[] = "HTTP/1.1 200 ";
enum { ASKED = sizeof request - 1, GOOD = sizeof good - 1, EVENTS = 16 };
static const int64_t second = 1000000000, grace = second / 100, patience = 2 * second;

static void fail(const char *what)
{
	fprintf(stderr, "client: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
	exit(1);
}

static void must(int fine, const char *what)
{
	if (!fine)
		fail(what);
}

static void *array(size_t n, size_t size)
{
	void *p = malloc(n * size);
	must(p != NULL, "malloc");
	return memset(p, 0, n * size); /* touched, so that no page fault comes later */
}

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * second + t.tv_nsec;
}

/* uniform draws from (0, 1]: splitmix64. */
static uint64_t state;
static double uniform(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (((z ^ z >> 31) >> 11) + 1) * 0x1p-53;
}

static int dial(int port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	must(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0, "connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

/* reply_size asks once: all replies to this request are as long. */
static ssize_t reply_size(int fd)
{
	char buf[16384], *body, *length;
	ssize_t got = 0, want = sizeof buf - 1;
	must(send(fd, request, ASKED, MSG_NOSIGNAL) == ASKED, "send");
	while (got < want) {
		ssize_t n = recv(fd, buf + got, sizeof buf - 1 - got, 0);
		must(n > 0, "no reply");
		buf[got += n] = 0;
		if (!(body = strstr(buf, "\r\n\r\n")))
			continue;
		length = strcasestr(buf, "\r\nContent-Length:");
		must(length != NULL && length < body, "a reply without Content-Length");
		want = body + 4 - buf + atol(length + 17);
	}
	must(got == want && memcmp(buf, good, GOOD) == 0, "the first reply is no 200 of one length");
	return want;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* at is the quantile q of n sorted times by nearest rank, in microseconds. */
static double at(const int64_t *sorted, long n, double q)
{
	long rank = ceil(q * n);
	return n == 0 ? 0 : sorted[rank < 1 ? 0 : rank - 1] / 1e3;
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "usage: client PORT RATE SECONDS CONNECTIONS SEED\n");
		return 2;
	}
	const int port = atoi(argv[1]), conns = atoi(argv[4]);
	const double rate = atof(argv[2]), seconds = atof(argv[3]);
	state = strtoull(argv[5], NULL, 10);
	must(port > 0 && conns > 0 && rate > 0 && seconds > 0, "arguments must be positive");
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	struct rlimit files;
	must(getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
	files.rlim_cur = files.rlim_max;
	must(setrlimit(RLIMIT_NOFILE, &files) == 0, "setrlimit");

	const int64_t length = seconds * second;
	const long most = rate * seconds + 10 * sqrt(rate * seconds) + 10;
	int64_t *due = array(most, sizeof *due), *written = array(most, sizeof *written), *done = array(most, sizeof *done);
	long scheduled = 0;
	for (double t = 0; scheduled < most && (t += state ? -log(uniform()) / rate : 1 / rate) < seconds;)
		due[scheduled++] = t * second;

	int epoll = epoll_create1(EPOLL_CLOEXEC);
	must(epoll >= 0, "epoll_create1");
	int *fds = array(conns, sizeof *fds), *idle = array(conns, sizeof *idle);
	long *under_way = array(conns, sizeof *under_way);
	ssize_t *got = array(conns, sizeof *got), size = 0;
	for (int c = 0; c < conns; c++) {
		fds[c] = dial(port);
		if (c == 0)
			size = reply_size(fds[c]);
		struct epoll_event watch = {.events = EPOLLIN, .data.u32 = c};
		must(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[c], &watch) == 0, "epoll_ctl");
		idle[c] = c;
		under_way[c] = -1;
	}

	/* idle is a circle: the connection that has been free longest is the next used. */
	long sent = 0, seen = 0, queued = 0, answered = 0, bad = 0;
	int first = 0, free_ones = conns;
	int64_t gap = 0, start = now(), t = 0, last;
	struct epoll_event events[EVENTS];
	static char buf[65536];
	for (;;) {
		last = t;
		t = now() - start;
		if (last > 0 && t - last > gap)
			gap = t - last;
		if (t < length + grace) {
			while (sent < scheduled && due[sent] <= t && free_ones > 0) {
				int c = idle[first];
				first = first + 1 == conns ? 0 : first + 1;
				free_ones--;
				under_way[c] = sent;
				got[c] = 0;
				written[sent] = now() - start;
				must(send(fds[c], request, ASKED, MSG_DONTWAIT | MSG_NOSIGNAL) == ASKED, "send");
				sent++;
			}
			if (seen < sent)
				seen = sent;
			for (; seen < scheduled && due[seen] <= t; seen++)
				queued++;
		} else if (answered == sent || t > length + patience) {
			break;
		}
		int count = epoll_wait(epoll, events, EVENTS, 0);
		for (int i = 0; i < count; i++) {
			int c = events[i].data.u32;
			ssize_t n = recv(fds[c], buf, sizeof buf, MSG_DONTWAIT);
			if (n < 0 && errno == EAGAIN)
				continue;
			must(n > 0, "the server closed a connection");
			must(under_way[c] >= 0, "a reply to nothing");
			if (got[c] == 0 && (n < GOOD || memcmp(buf, good, GOOD) != 0))
				bad++;
			got[c] += n;
			must(got[c] <= size, "a reply longer than the first");
			if (got[c] < size)
				continue;
			done[under_way[c]] = now() - start;
			under_way[c] = -1;
			idle[(first + free_ones++) % conns] = c;
			answered++;
		}
	}

	/* In place: from now on response times and lags, of what was answered and sent. */
	long n = 0;
	for (long i = 0; i < sent; i++) {
		written[i] -= due[i];
		if (done[i] > 0)
			done[n++] = done[i] - due[i];
	}
	qsort(done, n, sizeof *done, ascending);
	qsort(written, sent, sizeof *written, ascending);
	printf("scheduled=%ld sent=%ld answered=%ld bad=%ld p50=%.2f p90=%.2f p99=%.2f p999=%.2f max=%.2f "
	       "lag50=%.2f lag99=%.2f lag999=%.2f lagmax=%.2f gap=%.2f queued=%ld\n",
	       scheduled, sent, answered, bad, at(done, n, .5), at(done, n, .9), at(done, n, .99), at(done, n, .999), at(done, n, 1),
	       at(written, sent, .5), at(written, sent, .99), at(written, sent, .999), at(written, sent, 1), gap / 1e3, queued);
	return answered == sent && bad == 0 ? 0 : 1;
}
