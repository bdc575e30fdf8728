#!/usr/bin/env bash
# micrometer gives a service of 67.2 ms and one of 71.2 ms the same p50, p99 and p100: 67.1 ms, below each time.
#
# micrometer 1.17.2 (Java) counts the times of a Timer with publishPercentiles in a histogram of one significant digit, by
# default, and gives the lower end of the interval in which a percentile lies. There are 16 of these to a doubling, so
# percentiles move in steps of 3 to 6 %: a release that makes each request 6 % slower moves none, and one of 0.2 % can move all
# by 6 %. One would expect the 100th percentile of equal times to be that time, as the same snapshot's max and mean are. The
# setting has a name, percentilePrecision; its documentation speaks of memory, and not of how far a percentile may be away.
# Without a request for the time of distributionStatisticExpiry, two minutes by default, every percentile is 0, in the registry
# for Prometheus too: an idle service is the fastest of all, and one that hangs looks so. One would expect NaN, as Prometheus' own
# clients give.
#
# Seen on 2026-11-30 (openjdk 17.0.15); a thousand times each:
#   67.2 ms: mean 67.2, max 67.2, p50 67.1, p99 67.1, p100 67.1
#   71.2 ms: mean 71.2, max 71.2, p50 67.1, p99 67.1, p100 67.1
#   71.4 ms: mean 71.4, max 71.4, p50 71.3, p99 71.3, p100 71.3
#   71.2 ms, with percentilePrecision(3): mean 71.2, max 71.2, p50 71.2, p99 71.2, p100 71.2
#   71.2 ms, after an expiry without one: p99 0.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >pom.xml <<'EOF'
<project xmlns="http://maven.apache.org/POM/4.0.0">
	<modelVersion>4.0.0</modelVersion>
	<groupId>finding</groupId>
	<artifactId>finding</artifactId>
	<version>1</version>
	<dependencies>
		<dependency><groupId>io.micrometer</groupId><artifactId>micrometer-core</artifactId><version>1.17.2</version></dependency>
	</dependencies>
</project>
EOF
cat >Main.java <<'EOF'
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.distribution.HistogramSnapshot;
import io.micrometer.core.instrument.distribution.ValueAtPercentile;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

public class Main {
	static void show(int micros, Integer digits) {
		Timer t = Timer.builder("t").publishPercentiles(.5, .99, 1).percentilePrecision(digits).register(new SimpleMeterRegistry());
		for (int i = 0; i < 1000; i++) t.record(Duration.ofNanos(micros * 1000L));
		HistogramSnapshot s = t.takeSnapshot();
		StringBuilder line = new StringBuilder(String.format(Locale.ROOT, "%.1f ms%s: mean %.1f, max %.1f", micros / 1e3,
				digits == null ? "" : ", with percentilePrecision(" + digits + ")", s.mean(TimeUnit.MILLISECONDS), s.max(TimeUnit.MILLISECONDS)));
		for (ValueAtPercentile p : s.percentileValues()) line.append(String.format(Locale.ROOT, ", p%.0f %.1f", 100 * p.percentile(), p.value(TimeUnit.MILLISECONDS)));
		System.out.println(line);
	}

	public static void main(String[] args) throws InterruptedException {
		show(67_200, null);
		show(71_200, null);
		show(71_400, null);
		show(71_200, 3);
		Timer t = Timer.builder("t").publishPercentiles(.99).distributionStatisticExpiry(Duration.ofSeconds(1)).register(new SimpleMeterRegistry());
		t.record(Duration.ofNanos(71_200_000L));
		Thread.sleep(1500);
		System.out.printf(Locale.ROOT, "71.2 ms, after an expiry without one: p99 %.1f%n", t.takeSnapshot().percentileValues()[0].value(TimeUnit.MILLISECONDS));
	}
}
EOF
mvn -q -B -Dmaven.repo.local="$dir/m2" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath -Dmdep.outputFile=classpath >/dev/null
java -version 2>&1 | head -n 1
javac -cp "$(cat classpath)" -d . Main.java
got=$(java -cp ".:$(cat classpath)" Main 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'EOF'
67.2 ms: mean 67.2, max 67.2, p50 67.1, p99 67.1, p100 67.1
71.2 ms: mean 71.2, max 71.2, p50 67.1, p99 67.1, p100 67.1
71.4 ms: mean 71.4, max 71.4, p50 71.3, p99 71.3, p100 71.3
71.2 ms, with percentilePrecision(3): mean 71.2, max 71.2, p50 71.2, p99 71.2, p100 71.2
71.2 ms, after an expiry without one: p99 0.0
EOF
