// Details that a reader has opened stay open, after a reload and on the way back. The end of the page's address tells which: a
// report in the ui is a site of its own at each load, and has no other memory.
{
  const all = () => [...document.querySelectorAll("details")];
  // An element without an id is known by its place, so a page that changes gives ids.
  const name = (details, place) => details.id || String(place);
  const open = (location.hash.split(";open=")[1] ?? "").split(",");
  all().forEach((details, place) => { if (open.includes(name(details, place))) details.open = true; });
  const note = () => {
    const [place, before] = location.hash.split(";open="), open = all().flatMap((details, place) => details.open ? [name(details, place)] : []).join();
    if (open !== (before ?? "")) location.replace((place || "#") + ";open=" + open);
  };
  document.addEventListener("toggle", note, true);
  addEventListener("hashchange", note); // a link within the page
}
